// The past of streams as charts want it: points of {time, low, mean, high, count, number}, times in ms.

import { get } from "../core/api.js";
import { measured, ms, ns } from "../core/format.js";

/** Ask for one stream between two times, in about so many points. */
export async function history(stream, from, to, points, signal) {
  const { streams } = await get("/history", { stream, since: ns(from), until: ns(to), points }, signal);
  return taken(streams.find((each) => each.stream === stream) ?? streams[0]);
}

/** Ask for many at once: a map from stream to points. */
export async function histories(names, from, to, points, signal) {
  if (!names.length) return new Map();
  const { streams } = await get("/history", { stream: names, since: ns(from), until: ns(to), points }, signal);
  return new Map(streams.map((each) => [each.stream, taken(each)]));
}

/** A reading of the live line as a point; null if it is no number. */
export function pointOf(reading) {
  return point(reading.time, reading.value, reading.number);
}

function taken(series) {
  if (!series) return [];
  if (series.buckets) {
    return series.buckets
      .filter((each) => each[4] > 0)
      .map(([time, low, mean, high, count]) => ({ time: ms(time), low, mean, high, count, number: null }));
  }
  return (series.points ?? []).map(([time, value, number]) => point(time, value, number)).filter(Boolean);
}

function point(time, value, number) {
  const said = measured(value);
  const amount = typeof said === "boolean" ? Number(said) : said;
  if (typeof amount !== "number" || !Number.isFinite(amount)) return null;
  return { time: ms(time), low: amount, mean: amount, high: amount, count: 1, number };
}
