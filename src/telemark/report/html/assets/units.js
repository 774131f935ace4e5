// How numbers are written in charts: the same rules as telemark/report/format.py (a test compares them).
"use strict";

const telemarkUnits = (() => {
  const MISSING = "–";

  function number(value, digits = 3) {
    if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
    if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    const text = value.toFixed(Math.min(decimals, 9));
    return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  }

  function scaled(value, steps) {
    for (const [factor, suffix] of steps) {
      if (Math.abs(value) >= factor) return number(value / factor) + suffix;
    }
    const [factor, suffix] = steps[steps.length - 1];
    return number(value / factor) + suffix;
  }

  const SHORT = [[1e9, "G"], [1e6, "M"], [1e3, "K"], [1, ""]];
  const TIME = [[60e6, " min"], [1e6, " s"], [1e3, " ms"], [1, " µs"]];
  const BYTES = [[1024 ** 4, " TiB"], [1024 ** 3, " GiB"], [1024 ** 2, " MiB"], [1024, " KiB"], [1, " B"]];

  const WRITERS = {
    messages_per_second: (v) => scaled(v, SHORT) + " msg/s",
    connections_per_second: (v) => scaled(v, SHORT) + " conn/s",
    us: (v) => scaled(v, TIME.slice(1)),
    ns: (v) => scaled(v / 1000, TIME.slice(1)),
    bytes: (v) => scaled(v, BYTES),
    cores: (v) => v.toFixed(2),
    count: (v) => number(v),
    ratio: (v) => (v > 0 && v < 0.01 ? "<0.01x" : number(v, 2) + "x"),
    share: (v) => number(v * 100) + " %",
    seconds: (v) => scaled(v * 1e6, TIME),
  };

  function write(unit, value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
    return WRITERS[unit] ? WRITERS[unit](value) : String(value);
  }

  // On an axis the unit's word stands in the axis name already, so only the number is written.
  function onAxis(unit, value) {
    if (unit === "messages_per_second" || unit === "connections_per_second" || unit === "count") return scaled(value, SHORT);
    if (unit === "cores" || unit === "seconds") return number(value);
    return write(unit, value);
  }

  return { number, write, onAxis, MISSING };
})();
