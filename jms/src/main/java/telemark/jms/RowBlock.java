package telemark.jms;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Delivery rows of one consumer on their way to the row file, column by column.
 *
 * <p>A block on disk: magic "TMB1", row count (i32), then the columns one after the other, widest first so that each is
 * aligned: sequence, intended, sent, received (i64); stream, subscription, size (i32); qos, flags (i8); zero bytes up to a
 * multiple of 8. The Python side wraps each column as it stands.
 */
final class RowBlock {
  static final int MAGIC = 0x31424D54; // "TMB1"
  static final byte FLAG_REDELIVERED = 1;
  static final byte FLAG_FOREIGN = 4;
  private static final int HEADER_BYTES = 8;
  private static final int ROW_BYTES = 4 * 8 + 3 * 4 + 2;

  private final int subscription;
  private final byte qos;
  private final long[] times; // sequence, intended, sent, received of each row
  private final int[] streams;
  private final int[] sizes;
  private final byte[] flags;
  private int rows;

  RowBlock(int capacity, int subscription, int qos) {
    this.subscription = subscription;
    this.qos = (byte) qos;
    times = new long[4 * capacity];
    streams = new int[capacity];
    sizes = new int[capacity];
    flags = new byte[capacity];
  }

  int subscription() {
    return subscription;
  }

  boolean full() {
    return rows == streams.length;
  }

  boolean empty() {
    return rows == 0;
  }

  void add(Stamp stamp, long receivedNs, int size, boolean redelivered) {
    times[4 * rows] = stamp.sequence();
    times[4 * rows + 1] = stamp.intendedNs();
    times[4 * rows + 2] = stamp.sentNs();
    times[4 * rows + 3] = receivedNs;
    streams[rows] = stamp.stream();
    sizes[rows] = size;
    flags[rows] = (byte) ((redelivered ? FLAG_REDELIVERED : 0) | (stamp.foreign() ? FLAG_FOREIGN : 0));
    rows++;
  }

  /** The block's bytes; the block is empty afterwards. */
  ByteBuffer take() {
    int length = HEADER_BYTES + ROW_BYTES * rows;
    ByteBuffer bytes = ByteBuffer.allocate((length + 7) / 8 * 8).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putInt(MAGIC).putInt(rows);
    for (int column = 0; column < 4; column++) {
      for (int row = 0; row < rows; row++) {
        bytes.putLong(times[4 * row + column]);
      }
    }
    for (int row = 0; row < rows; row++) {
      bytes.putInt(streams[row]);
    }
    for (int row = 0; row < rows; row++) {
      bytes.putInt(subscription);
    }
    for (int row = 0; row < rows; row++) {
      bytes.putInt(sizes[row]);
    }
    for (int row = 0; row < rows; row++) {
      bytes.put(qos);
    }
    bytes.put(flags, 0, rows);
    rows = 0;
    return bytes.clear();
  }
}
