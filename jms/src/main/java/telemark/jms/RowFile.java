package telemark.jms;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The file all consumers append their row blocks to. What write() took survives the death of this JVM. */
final class RowFile implements AutoCloseable {
  private final FileChannel channel;

  RowFile(Path path) throws IOException {
    channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  /** One block at a time, so that blocks never interleave. */
  synchronized void append(ByteBuffer block) throws IOException {
    while (block.hasRemaining()) {
      channel.write(block);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
