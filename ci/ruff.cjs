// Runs ruff's WebAssembly build over files; the node half of ci/ruff.
//
// Standard input: {"package": folder, "options": ruff's options, "texts": [text of a file]}.
// Standard output, for each text: {"diagnostics", "formatted": the text as ruff would write it, or
// as it stands if it is no Python}.

const fs = require("node:fs");

const request = JSON.parse(fs.readFileSync(0, "utf8"));
const { Workspace, PositionEncoding } = require(request.package);

function main() {
  const workspace = new Workspace(request.options, PositionEncoding.Utf32);
  const answers = request.texts.map((text) => {
    const diagnostics = workspace.check(text);
    const broken = diagnostics.some((found) => found.code === "invalid-syntax");
    return { diagnostics, formatted: broken ? text : workspace.format(text) };
  });
  process.stdout.write(JSON.stringify(answers));
}

try {
  main();
} catch (error) {
  process.stderr.write(`ruff: ${error.message}\n`);
  process.exitCode = 1;
}
