// Makes the report live: draws charts, sorts tables, switches light and dark, saves CSV.
"use strict";

const telemarkPage = (() => {
  const holder = document.getElementById("chart-data");
  const specs = holder ? JSON.parse(holder.textContent) : {};
  const chartElements = () => [...document.querySelectorAll(".chart[data-chart]")];

  function drawOne(element) {
    const spec = specs[element.dataset.chart];
    if (spec) telemarkCharts.draw(element, spec);
  }

  // Charts of a closed section wait until they are shown.
  const isOpen = (element) => element.closest("details:not([open])") === null;

  function drawAll() {
    chartElements().filter((element) => isOpen(element) && !element.dataset.drawn).forEach(drawOne);
  }

  function redraw() {
    chartElements().filter((element) => element.dataset.drawn).forEach(drawOne);
  }

  // What is in view is drawn first. The rest follows by itself, a few at a time, so that a page that is printed or
  // captured without ever being scrolled is complete.
  function watch() {
    const observer = new IntersectionObserver((entries) => {
      entries.filter((entry) => entry.isIntersecting && !entry.target.dataset.drawn).forEach((entry) => {
        drawOne(entry.target);
        observer.unobserve(entry.target);
      });
    }, { rootMargin: "300px" });
    chartElements().forEach((element) => observer.observe(element));
    setTimeout(drawSome, 50);
  }

  function drawSome() {
    const waiting = chartElements().filter((element) => isOpen(element) && !element.dataset.drawn);
    waiting.slice(0, 4).forEach(drawOne);
    if (waiting.length > 4) setTimeout(drawSome, 0);
  }

  function saveCsv(button) {
    const spec = specs[button.dataset.csv];
    const address = URL.createObjectURL(new Blob([telemarkCharts.csvOf(spec)], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `${spec.title.replace(/[^A-Za-z0-9]+/g, "-").toLowerCase()}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // Numbers by value, words by letters; what was not measured always stands last.
  function compare(left, right) {
    const [a, b] = [left, right].map((cell) => (cell.dataset.sort === undefined ? cell.textContent.trim() : cell.dataset.sort));
    const [x, y] = [a, b].map((text) => (text === "" || text === telemarkUnits.MISSING ? null : text));
    if (x === null || y === null) return x === y ? 0 : { missing: x === null ? 1 : -1 };
    const [m, n] = [Number(x), Number(y)];
    return Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y, "en", { numeric: true }) : m - n;
  }

  function sortBy(header) {
    const table = header.closest("table");
    const column = [...header.parentElement.children].indexOf(header);
    const direction = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((left, right) => {
      const order = compare(left.cells[column], right.cells[column]);
      return typeof order === "object" ? order.missing : direction * order;
    });
    table.tBodies[0].append(...rows);
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  }

  function remembered(value) {
    try { // a page opened from a file may not be allowed to remember anything
      if (value !== undefined) localStorage.setItem("telemark-theme", value);
      return localStorage.getItem("telemark-theme");
    } catch { return null; }
  }

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : prefersDark.matches;
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    redraw();
  }

  // Paper is light, whatever the screen is.
  let screenTheme = null;
  function toPaper() {
    if (screenTheme === null) screenTheme = document.documentElement.dataset.theme || "";
    document.documentElement.dataset.theme = "light";
    openAll();
    drawOn(telemarkCharts.drawForPaper);
  }

  function toScreen() {
    if (screenTheme) document.documentElement.dataset.theme = screenTheme;
    else delete document.documentElement.dataset.theme;
    screenTheme = null;
    drawOn(telemarkCharts.drawForScreen);
  }

  function drawOn(draw) {
    chartElements().filter((element) => specs[element.dataset.chart]).forEach((element) => draw(element, specs[element.dataset.chart]));
  }

  // An address that points into a closed section opens it first.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    if (target) target.scrollIntoView();
  }

  function openAll() {
    document.querySelectorAll("details").forEach((element) => { element.open = true; });
  }

  function start() {
    const theme = remembered();
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.csv) saveCsv(button);
      if (button.dataset.action === "theme") { const next = isDark() ? "light" : "dark"; remembered(next); setTheme(next); }
      if (button.dataset.action === "open-all") openAll();
      if (button.parentElement.tagName === "TH") sortBy(button.parentElement);
    });
    let waiting = 0;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(telemarkCharts.resizeAll, 100); });
    document.querySelectorAll("details").forEach((element) => element.addEventListener("toggle", drawSome));
    addEventListener("hashchange", openTarget);
    prefersDark.addEventListener("change", redraw);
    addEventListener("beforeprint", toPaper);
    addEventListener("afterprint", toScreen);
    watch();
    if (location.hash) openTarget();
  }

  start();
  return { drawAll, openAll, specs };
})();
