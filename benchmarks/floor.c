/* The floor: the least a host pays for small messages over many loopback connections.
 *
 * One thread sends, one message per write, to N connections in turn; another reads whatever arrives. There is no
 * protocol, no routing and no record, so nothing that does more can be cheaper. Benchmarks run this beside
 * themselves and compare by ratio, because absolute figures of shared machines mean little.
 *
 *     cc -O2 -pthread -o floor floor.c
 *     ./floor [connections] [messages per write] [seconds]
 *
 * Prints one line of JSON.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 48 /* an MQTT PUBLISH with a short topic and 32 bytes of payload */
#define LARGEST_WRITE (MESSAGE * 1024)

struct receiver {
    int listener, connections;
    atomic_int over;
    long long bytes;
    double cpu;
};

static double now(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

static void *receiving(void *argument) {
    struct receiver *self = argument;
    struct epoll_event ready[1024];
    char *buffer = malloc(1 << 16);
    int epoll = epoll_create1(0);
    for (int i = 0; i < self->connections; i++) {
        int fd = accept4(self->listener, NULL, NULL, SOCK_NONBLOCK);
        struct epoll_event interest = {.events = EPOLLIN, .data = {.fd = fd}};
        if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest)) give_up("accept");
    }
    while (!atomic_load(&self->over)) {
        int count = epoll_wait(epoll, ready, 1024, 50);
        for (int i = 0; i < count; i++) {
            ssize_t got = read(ready[i].data.fd, buffer, 1 << 16);
            if (got > 0) self->bytes += got;
        }
    }
    self->cpu = now(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static int listen_anywhere(struct sockaddr_in *address) {
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 4096)) give_up("listen");
    if (getsockname(fd, (struct sockaddr *)address, &size)) give_up("getsockname");
    return fd;
}

static int *connect_all(const struct sockaddr_in *address, int connections) {
    int *fds = calloc((size_t)connections, sizeof *fds), on = 1;
    for (int i = 0; i < connections; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0 || connect(fds[i], (const struct sockaddr *)address, sizeof *address)) give_up("connect");
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fds;
}

int main(int argc, char **argv) {
    int connections = argc > 1 ? atoi(argv[1]) : 1000;
    int per_write = argc > 2 ? atoi(argv[2]) : 1;
    double seconds = argc > 3 ? atof(argv[3]) : 4.0;
    if (connections < 1 || per_write < 1 || per_write * MESSAGE > LARGEST_WRITE || seconds <= 0) {
        fprintf(stderr, "usage: floor [connections >= 1] [messages per write, 1 to 1024] [seconds > 0]\n");
        return 2;
    }
    struct sockaddr_in address;
    struct receiver receiver = {.listener = listen_anywhere(&address), .connections = connections};
    pthread_t thread;
    if (pthread_create(&thread, NULL, receiving, &receiver)) give_up("thread");
    int *fds = connect_all(&address, connections);
    usleep(500 * 1000); /* let the receiver accept everything */

    static char message[LARGEST_WRITE];
    size_t size = (size_t)(MESSAGE * per_write);
    long long writes = 0, sent = 0;
    double cpu = now(CLOCK_THREAD_CPUTIME_ID), begun = now(CLOCK_MONOTONIC), elapsed;
    do {
        for (int i = 0; i < 256; i++) {
            ssize_t put = send(fds[writes++ % connections], message, size, MSG_NOSIGNAL);
            if (put > 0) sent += put;
        }
        elapsed = now(CLOCK_MONOTONIC) - begun;
    } while (elapsed < seconds);
    cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    usleep(500 * 1000); /* let the receiver read the rest */
    atomic_store(&receiver.over, 1);
    pthread_join(thread, NULL);

    double messages = (double)sent / MESSAGE;
    printf("{\"connections\": %d, \"messages_per_s\": %.0f, \"send_us_per_message\": %.3f, "
           "\"receive_us_per_message\": %.3f, \"lost\": %.0f}\n",
           connections, messages / elapsed, cpu / messages * 1e6, receiver.cpu / messages * 1e6,
           messages - (double)receiver.bytes / MESSAGE);
    return 0;
}
