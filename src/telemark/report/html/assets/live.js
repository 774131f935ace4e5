// Shows a running campaign: asks for live.json once a second and redraws. When the run ends, the page reloads once.
"use strict";

(() => {
  const section = document.getElementById("live");
  const place = (id) => document.getElementById(`live-${id}`);
  let known = null; // states of the runs at the last look

  const CHARTS = {
    rate: { y: { name: "messages a second", unit: "messages_per_second", scale: "linear" }, lines: { sent_rate: "sent", received_rate: "received" } },
    latency: { y: { name: "latency", unit: "us", scale: "log" }, lines: { p50_us: "50P", p99_us: "99P" } },
    cpu: { y: { name: "cores", unit: "cores", scale: "linear" }, lines: { server_cpu_cores: "server", engine_cpu_cores: "engine" } },
    memory: { y: { name: "memory", unit: "bytes", scale: "linear" }, lines: { server_rss_bytes: "resident (RSS)" } },
  };

  function specOf(chart, live) {
    const column = (name) => live.columns.indexOf(name);
    const points = (name) => live.samples.map((sample) => [sample[column("elapsed_s")], sample[column(name)]]);
    const series = Object.entries(chart.lines).map(([name, title]) => ({ name: title, style: "solid", kind: "line", axis: 0, points: points(name) }));
    return { title: "", x: { name: "seconds since the run began", unit: "seconds", scale: "linear" }, y: chart.y, series };
  }

  function show(live) {
    const last = live.samples[live.samples.length - 1] || [];
    const value = (name) => last[live.columns.indexOf(name)];
    const write = telemarkUnits.write;
    place("run").textContent = `${live.run} (${live.number} of ${live.of})`;
    place("point").textContent = `${live.server} ${live.point}`;
    place("phase").textContent = value("phase") || telemarkUnits.MISSING;
    place("elapsed").textContent = write("seconds", Math.round(value("elapsed_s")));
    place("remaining").textContent = write("seconds", live.remaining_s === null ? null : Math.round(live.remaining_s));
    for (const name of ["connected", "sent", "received", "dropped"]) place(name).textContent = write("count", live.totals[name]);
    place("outstanding").textContent = write("count", value("outstanding"));
    for (const [id, chart] of Object.entries(CHARTS)) telemarkCharts.draw(document.getElementById(`live-chart-${id}`), specOf(chart, live));
  }

  async function look() {
    try {
      const answer = await fetch(section.dataset.address);
      const { live, runs } = await answer.json();
      section.hidden = live === null;
      if (live !== null) show(live);
      const states = runs.join();
      if (known !== null && known !== states && live === null) location.reload();
      known = states;
    } catch { /* the server may be gone for a moment: the next look tells */ }
    setTimeout(look, 1000);
  }

  look();
})();
