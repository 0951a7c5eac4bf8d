// Turns the series page's JSON into a uPlot chart in place of the drawing that the server made.
"use strict";

(() => {
  const frame = document.getElementById("chart");
  const holder = document.getElementById("chart-data");
  const reading = document.getElementById("reading");
  if (!frame || !holder || typeof uPlot === "undefined") return;

  const data = JSON.parse(holder.textContent);
  const columns = [
    data.x,
    data.base_center, data.base_low, data.base_high,
    data.head_center, data.head_low, data.head_high,
  ];
  const [BASE, BASE_LOW, BASE_HIGH, HEAD, HEAD_LOW, HEAD_HIGH] = [1, 2, 3, 4, 5, 6];
  const HEIGHT = 300;
  let chart = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const figure = (value) => value == null ? "–" : `${Number(value.toPrecision(4))}\u00a0${data.unit}`;

  // A head belongs to a pull request and not to the line: its interval is a bar of its own.
  // So is a lone base's: a band needs two.
  function drawBars(u) {
    const { ctx } = u;
    const isLone = columns[BASE].filter((value) => value != null).length === 1;
    ctx.save();
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = 2 * devicePixelRatio;
    columns[0].forEach((x, place) => {
      const isHead = columns[HEAD][place] != null;
      if (!isHead && !isLone) return;
      const low = columns[isHead ? HEAD_LOW : BASE_LOW][place];
      const high = columns[isHead ? HEAD_HIGH : BASE_HIGH][place];
      ctx.strokeStyle = colour(isHead ? "--head" : "--accent");
      const at = u.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, u.valToPos(low, "y", true));
      ctx.lineTo(at, u.valToPos(high, "y", true));
      ctx.stroke();
    });
    ctx.restore();
  }

  function read(u) {
    const place = u.cursor.idx;
    if (place == null) { reading.textContent = ""; return; }
    const side = columns[BASE][place] == null ? HEAD : BASE;
    const [center, low, high] = [0, 1, 2].map((offset) => columns[side + offset][place]);
    reading.textContent = `${data.labels[place]}: ${figure(center)} (${figure(low)} to ${figure(high)})`;
  }

  function xRange(u, min, max) {
    return columns[0].length === 1 ? [-0.5, 0.5] : [min - 0.5, max + 0.5];
  }

  function range(u, min, max) {
    const room = (max - min) * 0.1 || Math.abs(max) * 0.1 || 1;
    return [min - room, max + room];
  }

  function draw() {
    const accent = colour("--accent"), head = colour("--head"), paper = colour("--panel");
    const soft = colour("--soft"), line = colour("--line");
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const edge = { stroke: "transparent", points: { show: false }, spanGaps: true };
    const options = {
      width: frame.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false } },
      scales: { x: { time: false, range: xRange }, y: { range } },
      axes: [
        {
          ...axis,
          space: 70,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
          values: (u, places) => places.map((place) => (data.labels[place] || "").slice(0, 7)),
        },
        { ...axis, size: 74, values: (u, values) => values.map((v) => `${Number(v.toPrecision(5))} ${data.unit}`) },
      ],
      series: [
        {},
        { stroke: accent, width: 2, spanGaps: true, points: { show: true, size: 9, fill: accent, stroke: paper } },
        edge,
        edge,
        { stroke: head, paths: () => null, points: { show: true, size: 10, fill: head, stroke: paper } },
        { ...edge, paths: () => null },
        { ...edge, paths: () => null },
      ],
      bands: [{ series: [BASE_HIGH, BASE_LOW], fill: colour("--accent-soft") }],
      hooks: { draw: [drawBars], setCursor: [read] },
    };
    if (chart) chart.destroy();
    frame.replaceChildren();
    chart = new uPlot(options, columns, frame);
  }

  draw();
  new ResizeObserver(() => {
    if (chart && Math.abs(chart.width - frame.clientWidth) > 1) chart.setSize({ width: frame.clientWidth, height: HEIGHT });
  }).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
