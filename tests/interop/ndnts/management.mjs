// NFD management, as a client of @ndn/nfdmgmt: commands with their answers, and the status datasets.

import {
  ChannelStatus, ControlParameters, CsInfo, FaceQuery, FaceStatus, GeneralStatus, invoke, invokeCsErase, list, RibEntry,
  StrategyChoice,
} from "@ndn/nfdmgmt";
import { Name } from "@ndn/packet";
import { faceOf } from "./faces.mjs";

const datasets = {
  "status/general": GeneralStatus,
  "faces/list": FaceStatus,
  "faces/channels": ChannelStatus,
  "rib/list": RibEntry,
  "strategy-choice/list": StrategyChoice,
  "cs/info": CsInfo,
};

// Structures of NDNts keep their fields behind getters; names become URIs.
function plain(value) {
  if (value instanceof Name) {
    return `${value}`;
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]));
}

async function command({ face: name, command: path, name: prefix, strategy, ...parameters }) {
  const answer = await invoke(path, {
    ...parameters,
    ...(prefix && { name: new Name(prefix) }),
    ...(strategy && { strategy: new Name(strategy) }),
  }, { cOpts: { fw: faceOf(name).fw } });
  const body = answer.body.length > 0 ? plain(ControlParameters.decodeFromResponseBody(answer)) : null;
  return { code: answer.statusCode, text: answer.statusText, body };
}

async function dataset({ face: name, dataset: path, filter }) {
  const what = filter ? FaceQuery(filter) : datasets[path];
  return plain(await list(what, { cOpts: { fw: faceOf(name).fw } }));
}

function erase({ face: name, prefix }) {
  return invokeCsErase(new Name(prefix), { cOpts: { fw: faceOf(name).fw } });
}

export const verbs = { command, dataset, erase };
