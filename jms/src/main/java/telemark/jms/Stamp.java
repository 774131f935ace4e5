package telemark.jms;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The first 32 bytes of every payload, little-endian: magic u16, version u8, flags u8, stream u32, sequence u64, intended
 * ns i64, sent ns i64. Every kind of consumer decodes the same stamp.
 */
record Stamp(int stream, long sequence, long intendedNs, long sentNs) {
  static final int BYTES = 32;
  static final short MAGIC = 0x4D54; // "TM"
  static final byte VERSION = 1;

  /** What a payload without a valid stamp is recorded as: a delivery that belongs to no stream. */
  static final Stamp FOREIGN = new Stamp(-1, 0, 0, 0);

  /** Reads the stamp at the start of a payload of which {@code length} bytes were read. */
  static Stamp read(byte[] payload, int length) {
    if (length < BYTES) {
      return FOREIGN;
    }
    ByteBuffer bytes = ByteBuffer.wrap(payload, 0, BYTES).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.getShort(0) != MAGIC || bytes.get(2) != VERSION) {
      return FOREIGN;
    }
    return new Stamp(bytes.getInt(4), bytes.getLong(8), bytes.getLong(16), bytes.getLong(24));
  }

  boolean foreign() {
    return stream < 0;
  }
}
