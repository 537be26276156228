import { ignoreLostReaders } from "#lib/log-destination.ts";
import { runProgram } from "./commands/program.ts";
import { terminalOfProcess } from "./commands/terminal.ts";

// `fairlead config | head` ends quietly: who closes the pipe has read enough.
ignoreLostReaders();
const code = await runProgram(process.argv.slice(2), terminalOfProcess);
// A command that serves sets the code itself when it stops.
if (code !== 0) process.exitCode = code;
