// NDNts as a peer of the tests; requests.mjs says how it is told what to do.

import "./node20.mjs";
import { verbs as exchange } from "./exchange.mjs";
import { verbs as faces } from "./faces.mjs";
import { verbs as forwarder } from "./forwarder.mjs";
import { verbs as management } from "./management.mjs";
import { verbs as objects } from "./objects.mjs";
import { takeRequests } from "./requests.mjs";
import { verbs as signing } from "./signing.mjs";

takeRequests({ ...faces, ...exchange, ...objects, ...signing, ...management, ...forwarder });
