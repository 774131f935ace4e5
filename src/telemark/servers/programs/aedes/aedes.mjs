// Runs the Aedes MQTT server. argv: configuration file (JSON: modules, listeners, counters).
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import http from 'node:http'
import net from 'node:net'
import tls from 'node:tls'

const config = JSON.parse(readFileSync(process.argv[2]))
const { Aedes } = createRequire(config.modules + '/')('aedes')
const aedes = await Aedes.createBroker({ concurrency: 0, heartbeatInterval: 3600000 })

let messagesIn = 0
aedes.on('publish', (packet, client) => { if (client) messagesIn += 1 })

for (const listener of config.listeners) {
  const options = { noDelay: true }
  const server = listener.key
    ? tls.createServer({ key: readFileSync(listener.key), cert: readFileSync(listener.certificate), ...options }, aedes.handle)
    : net.createServer(options, aedes.handle)
  server.listen({ host: config.host, port: listener.port, backlog: 4096 })
}

http.createServer((request, response) => {
  response.end(JSON.stringify({ messages_in: messagesIn, connections: aedes.connectedClients }))
}).listen(config.counters, config.host)

process.on('SIGTERM', () => process.exit(0))
