// aedes as it comes, in memory, on a free loopback port that it prints when it is ready.
// Its one argument is the folder of npm packages.
import { createServer } from "node:net";
import { pathToFileURL } from "node:url";

const packages = process.argv[2];
const { Aedes } = await import(pathToFileURL(`${packages}/aedes/aedes.js`));
const broker = await Aedes.createBroker({ maxInflightInbound: 0 }); // as mosquitto here: no bound in flight
const server = createServer({ noDelay: true }, broker.handle);
server.listen(0, "127.0.0.1", 1024, () => console.log(`ready ${server.address().port}`));
