// How a chart looks: axes, the band from lowest to highest, the line of means, the cross under the pointer.

import { fill, h } from "../core/dom.js";
import * as format from "../core/format.js";
import { ink } from "../core/theme.js";

export const PLOT = { left: 52, right: 14, top: 14, bottom: 30 };
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30]
  .map((n) => n * SECOND)
  .concat(
    [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
    [1, 2, 3, 6, 12].map((n) => n * HOUR),
    [1, 2, 7, 14, 30, 90].map((n) => n * DAY),
  );
const GAP = 6; // as many usual distances without a reading break the line

/** Paint a chart as it stands. */
export function paint(chart) {
  const { canvas } = chart;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!width || !height) return;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${getComputedStyle(canvas).fontFamily}`;
  const points = chart.inSight();
  const space = spaceOf(chart, points, width, height);
  axes(pen, space);
  if (points.length) {
    pen.save();
    pen.beginPath();
    pen.rect(PLOT.left, 0, space.width, height - PLOT.bottom + 1);
    pen.clip();
    for (const run of runs(points)) line(pen, space, run);
    pen.restore();
  } else {
    pen.fillStyle = ink("ink-soft");
    pen.textAlign = "center";
    pen.fillText("No readings in this span", PLOT.left + space.width / 2, height / 2);
  }
  if (chart.marked) {
    pen.fillStyle = ink("accent");
    pen.globalAlpha = 0.16;
    pen.fillRect(chart.marked[0], PLOT.top, chart.marked[1] - chart.marked[0], space.height);
    pen.globalAlpha = 1;
  }
  cross(pen, space, chart, chart.marked || chart.pointer === null ? null : chart.near(chart.pointer));
}

function spaceOf(chart, points, width, height) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of points) {
    low = Math.min(low, each.low);
    high = Math.max(high, each.high);
  }
  if (!points.length) [low, high] = [0, 1];
  const pad = high > low ? (high - low) * 0.08 : Math.abs(high) * 0.02 || 1;
  const step = roundStep((high - low + 2 * pad) / 5);
  const space = {
    from: chart.start,
    to: chart.end,
    low: Math.floor((low - pad) / step) * step,
    high: Math.ceil((high + pad) / step) * step,
    step,
    width: width - PLOT.left - PLOT.right,
    height: height - PLOT.top - PLOT.bottom,
  };
  space.x = (time) => PLOT.left + ((time - space.from) / (space.to - space.from)) * space.width;
  space.y = (value) => PLOT.top + (1 - (value - space.low) / (space.high - space.low)) * space.height;
  return space;
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

function axes(pen, space) {
  pen.strokeStyle = ink("line");
  pen.fillStyle = ink("ink-soft");
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(space.step))));
  for (let value = space.low; value <= space.high + space.step / 2; value += space.step) {
    const y = Math.round(space.y(value)) + 0.5;
    pen.beginPath();
    pen.moveTo(PLOT.left, y);
    pen.lineTo(PLOT.left + space.width, y);
    pen.stroke();
    pen.fillText(
      value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
      PLOT.left - 8,
      y,
    );
  }
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const span = space.to - space.from;
  const step = STEPS.find((each) => span / each <= Math.max(2, space.width / 96)) ?? Math.ceil(span / (6 * DAY)) * DAY;
  const shift = new Date(space.from).getTimezoneOffset() * MINUTE;
  for (let time = Math.ceil((space.from - shift) / step) * step + shift; time <= space.to; time += step) {
    const x = space.x(time);
    pen.beginPath();
    pen.moveTo(x, PLOT.top + space.height);
    pen.lineTo(x, PLOT.top + space.height + 4);
    pen.stroke();
    if (x > PLOT.left + 18 && x < PLOT.left + space.width - 18)
      pen.fillText(format.tick(time, step), x, PLOT.top + space.height + 9);
  }
}

/** Parts of the line between gaps. */
function runs(points) {
  const distances = points
    .slice(1)
    .map((each, index) => each.time - points[index].time)
    .sort((a, b) => a - b);
  const usual = distances[Math.floor(distances.length / 2)] ?? 0;
  const found = [[points[0]]];
  for (let index = 1; index < points.length; index += 1) {
    if (usual && points[index].time - points[index - 1].time > usual * GAP) found.push([]);
    found.at(-1).push(points[index]);
  }
  return found;
}

function line(pen, space, run) {
  const colour = ink("series-1");
  if (run.some((each) => each.high > each.low)) {
    pen.fillStyle = colour;
    pen.globalAlpha = 0.18;
    pen.beginPath();
    for (const each of run) pen.lineTo(space.x(each.time), space.y(each.high));
    for (const each of [...run].reverse()) pen.lineTo(space.x(each.time), space.y(each.low));
    pen.fill();
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = colour;
  pen.lineWidth = 1.8;
  pen.lineJoin = "round";
  pen.beginPath();
  for (const each of run) pen.lineTo(space.x(each.time), space.y(each.mean));
  pen.stroke();
  if (run.length * 7 > space.width) return;
  pen.fillStyle = colour;
  for (const each of run) {
    pen.beginPath();
    pen.arc(space.x(each.time), space.y(each.mean), 2.4, 0, 7);
    pen.fill();
  }
}

function cross(pen, space, chart, near) {
  chart.tip.hidden = !near;
  if (!near) return;
  const [x, y] = [space.x(near.time), space.y(near.mean)];
  pen.strokeStyle = ink("line-strong");
  pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.moveTo(x, PLOT.top);
  pen.lineTo(x, PLOT.top + space.height);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = ink("surface");
  pen.strokeStyle = ink("series-1");
  pen.lineWidth = 2.4;
  pen.beginPath();
  pen.arc(x, y, 4.5, 0, 7);
  pen.fill();
  pen.stroke();
  const shown = (value) => format.valueWithUnit(value, chart.unit);
  const more =
    near.count > 1
      ? `${format.count(near.count)} readings, ${shown(near.low)} to ${shown(near.high)}`
      : near.number
        ? `number ${near.number}`
        : "";
  fill(
    chart.tip,
    h("strong", {}, shown(near.mean)),
    h("span", {}, format.when(near.time)),
    more ? h("span", { class: "soft" }, h("br"), more) : null,
  );
  const wide = chart.tip.offsetWidth;
  chart.tip.style.left = `${x + wide + 24 > chart.canvas.clientWidth ? Math.max(0, x - wide - 14) : x + 14}px`;
  chart.tip.style.top = `${Math.max(0, y - 40)}px`;
}
