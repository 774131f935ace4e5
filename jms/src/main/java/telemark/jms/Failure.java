package telemark.jms;

/** Something that ends the program; {@code kind} tells the Python side whose move it is. */
final class Failure extends Exception {
  private static final long serialVersionUID = 1L;

  private final String kind;

  /**
   * @param kind config (wrong settings), jar (a class is missing), connect (the server was not reached or refused us),
   *     subscribe (it refused the subscription, or cannot do it), receive (a consumer broke), record (rows could not be
   *     written)
   */
  Failure(String kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  String kind() {
    return kind;
  }
}
