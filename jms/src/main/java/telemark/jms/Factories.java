package telemark.jms;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;

/** Makes and fills the connection factories that provider files name; client libraries differ in how they want it. */
final class Factories {
  private Factories() {}

  /**
   * An object of a class, by its constructor, or what a static method of it returns.
   *
   * @param made the class, or {@code class#method}
   * @param arguments separated by commas; each is turned into the type that is asked for
   */
  static Object make(String made, String arguments) throws ReflectiveOperationException {
    String[] values = arguments.isBlank() ? new String[0] : arguments.split(",");
    String[] names = made.split("#", 2);
    Class<?> type = Class.forName(names[0]);
    if (names.length == 1) {
      Constructor<?> constructor = fitting(type.getConstructors(), values, made);
      return constructor.newInstance(converted(constructor, values));
    }
    Method[] methods = Arrays.stream(type.getMethods())
        .filter(method -> method.getName().equals(names[1]) && Modifier.isStatic(method.getModifiers()))
        .toArray(Method[]::new);
    Method method = fitting(methods, values, made);
    return method.invoke(null, converted(method, values));
  }

  /** Sets {@code name=value}: with {@code put(String, Object)} where the factory has it, else with its setter. */
  static void set(Object factory, String property) throws ReflectiveOperationException {
    String[] pair = property.split("=", 2);
    if (pair.length != 2) {
      throw new NoSuchMethodException("'" + property + "' is not NAME=VALUE");
    }
    for (Method method : factory.getClass().getMethods()) {
      if (method.getName().equals("put") && Arrays.equals(method.getParameterTypes(), PUT)) {
        method.invoke(factory, pair[0], guessed(pair[1]));
        return;
      }
    }
    String[] values = {pair[1]};
    Method[] setters = Arrays.stream(factory.getClass().getMethods())
        .filter(method -> method.getName().equals("set" + pair[0]))
        .toArray(Method[]::new);
    Method setter = fitting(setters, values, factory.getClass().getName() + "#set" + pair[0]);
    setter.invoke(factory, converted(setter, values));
  }

  private static final Class<?>[] PUT = {String.class, Object.class};

  private static <E extends Executable> E fitting(E[] offered, String[] values, String name) throws NoSuchMethodException {
    for (E each : offered) {
      if (each.getParameterCount() == values.length && Arrays.stream(each.getParameterTypes()).allMatch(Factories::known)) {
        return each;
      }
    }
    throw new NoSuchMethodException(name + " takes no " + values.length + " texts or numbers");
  }

  private static boolean known(Class<?> type) {
    return type == String.class || type == int.class || type == long.class || type == boolean.class;
  }

  private static Object[] converted(Executable target, String[] values) {
    Object[] converted = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      Class<?> type = target.getParameterTypes()[i];
      String value = values[i].trim();
      converted[i] = type == int.class ? (Object) Integer.valueOf(value)
          : type == long.class ? (Object) Long.valueOf(value)
          : type == boolean.class ? (Object) Boolean.valueOf(value) : value;
    }
    return converted;
  }

  private static Object guessed(String value) {
    if (value.equals("true") || value.equals("false")) {
      return Boolean.valueOf(value);
    }
    return value.matches("-?\\d{1,9}") ? (Object) Integer.valueOf(value) : value;
  }
}
