package telemark.jms;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class StampTest {
  private static byte[] stamp(short magic, byte version) {
    return ByteBuffer.allocate(Stamp.BYTES).order(ByteOrder.LITTLE_ENDIAN).putShort(magic).put(version).put((byte) 0)
        .putInt(7).putLong(42).putLong(1_000).putLong(2_000).array();
  }

  @Test
  void aValidStampGivesStreamSequenceAndTimes() {
    assertEquals(new Stamp(7, 42, 1_000, 2_000), Stamp.read(stamp(Stamp.MAGIC, Stamp.VERSION), Stamp.BYTES));
  }

  @Test
  void aPayloadShorterThanAStampIsForeign() {
    assertTrue(Stamp.read(stamp(Stamp.MAGIC, Stamp.VERSION), Stamp.BYTES - 1).foreign());
  }

  @Test
  void anotherMagicOrVersionIsForeign() {
    assertTrue(Stamp.read(stamp((short) 1, Stamp.VERSION), Stamp.BYTES).foreign());
    assertTrue(Stamp.read(stamp(Stamp.MAGIC, (byte) 9), Stamp.BYTES).foreign());
  }
}
