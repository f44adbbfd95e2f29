// What can be said of deploy/ without a cluster or a container engine:
//   node checks.mjs ROOT PROGRAM NODE_MODULES
// Each manifest's pods against Kubernetes' own schemas, the MPIJob around them against its fields,
// the command line in it against the program, and the Dockerfile as Docker parses it.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [root, program, modules] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const { parseDocument } = require("yaml");
const { DockerfileParser } = require("dockerfile-ast");
const { Pod } = await import(pathToFileURL(join(modules, "kubernetes-models/v1/Pod.js")));

const problems = [];
const expect = (holds, text) => holds || problems.push(text);

// Kubeflow's MPIJob, v2beta1: the fields that a manifest may have, by their place.
const mpiJobFields = {
  "": ["apiVersion", "kind", "metadata", "spec"],
  spec: ["slotsPerWorker", "runPolicy", "mpiReplicaSpecs", "mpiImplementation", "sshAuthMountPath"],
  "spec.runPolicy": ["cleanPodPolicy", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"],
  "spec.mpiReplicaSpecs": ["Launcher", "Worker"],
  "spec.mpiReplicaSpecs.Launcher": ["replicas", "restartPolicy", "template"],
  "spec.mpiReplicaSpecs.Worker": ["replicas", "restartPolicy", "template"],
  "spec.mpiReplicaSpecs.Launcher.template": ["metadata", "spec"],
  "spec.mpiReplicaSpecs.Worker.template": ["metadata", "spec"],
};

const at = (object, path) => path.split(".").reduce((value, key) => value?.[key], object);

function checkFields(file, job) {
  for (const [path, known] of Object.entries(mpiJobFields)) {
    const place = path === "" ? job : at(job, path);
    expect(place !== undefined, `${file}: expected ${path}`);
    for (const key of Object.keys(place ?? {})) {
      expect(known.includes(key), `${file}: unknown field ${path}.${key}: expected one of ${known.join(", ")}`);
    }
  }
  expect(job.apiVersion === "kubeflow.org/v2beta1", `${file}: apiVersion ${job.apiVersion}`);
  expect(job.kind === "MPIJob", `${file}: kind ${job.kind}`);
}

// The schemas let misspelt optional fields pass: what is used here is listed.
const containerFields = ["name", "image", "command", "args", "env", "resources", "securityContext", "volumeMounts"];

function checkPod(file, role, metadata, spec) {
  try {
    new Pod({ metadata, spec }).validate();
  } catch (error) {
    problems.push(`${file}, ${role}: ${error.message}`);
  }
  for (const container of spec.containers) {
    for (const key of Object.keys(container)) {
      expect(containerFields.includes(key), `${file}, ${role}: unknown field ${key} of a container`);
    }
    const { requests = {}, limits = {} } = container.resources ?? {};
    for (const [name, amount] of Object.entries(limits)) {
      const extended = name.includes("/") || name.startsWith("hugepages");
      expect(!extended || requests[name] === amount, `${file}, ${role}: ${name} must be requested as it is limited`);
    }
    for (const mount of container.volumeMounts ?? []) {
      expect(spec.volumes?.some((volume) => volume.name === mount.name), `${file}, ${role}: no volume ${mount.name}`);
    }
  }
}

function checkWorker(file, worker) {
  const limits = worker.containers[0].resources?.limits ?? {};
  for (const [name, amount] of [["nvidia.com/gpu", 8], ["vpc.amazonaws.com/efa", 32], ["hugepages-2Mi", "5120Mi"]]) {
    expect(limits[name] === amount, `${file}, Worker: ${name} is ${limits[name]}, expected ${amount}`);
  }
}

// Those of its arguments that the script takes for a command of the program.
const commandOf = { fleet: "fabric", soak: "soak" };

// The program knows every flag that it is given, and the ranks of mpirun fill the slots.
function checkLauncher(file, job) {
  const command = at(job, "spec.mpiReplicaSpecs.Launcher.template.spec").containers[0].command ?? [];
  if (command[0] === "/opt/duet/bin/duet.sbatch") {
    checkFlags(file, [commandOf[command[1]], ...command.slice(2)]);
    return;
  }
  const workers = at(job, "spec.mpiReplicaSpecs.Worker").replicas;
  const ranks = Number(command[command.indexOf("-np") + 1]);
  expect(ranks === workers * job.spec.slotsPerWorker, `${file}: ${ranks} ranks on ${workers} x ${job.spec.slotsPerWorker} slots`);
  checkFlags(file, command.slice(command.indexOf("duet") + 1));
}

function checkFlags(file, line) {
  const help = execFileSync(program, [line[0], "--help"], { encoding: "utf8" });
  for (const flag of line.filter((word) => String(word).startsWith("-"))) {
    expect(new RegExp(`(^|[\\s,])${flag}(?![\\w-])`, "m").test(help), `${file}: duet ${line[0]} has no ${flag}`);
  }
}

function checkManifests() {
  const folder = join(root, "deploy/k8s");
  for (const file of readdirSync(folder)) {
    const document = parseDocument(readFileSync(join(folder, file), "utf8"), { uniqueKeys: true });
    for (const error of [...document.errors, ...document.warnings]) problems.push(`${file}: ${error.message}`);
    const job = document.toJS();
    checkFields(file, job);
    for (const role of ["Launcher", "Worker"]) {
      checkPod(file, role, job.metadata, at(job, `spec.mpiReplicaSpecs.${role}.template.spec`));
    }
    checkWorker(file, at(job, "spec.mpiReplicaSpecs.Worker.template.spec"));
    checkLauncher(file, job);
  }
}

const instructions = ["ARG", "FROM", "ENV", "COPY", "RUN", "WORKDIR", "CMD"];

function checkDockerfile() {
  const parsed = DockerfileParser.parse(readFileSync(join(root, "deploy/container/Dockerfile"), "utf8"));
  const stages = new Set();
  const pinned = new Set();  // arguments that name an image with a digest
  for (const each of parsed.getARGs()) {
    const argument = each.getProperty();
    if (/:[^@]+@sha256:[0-9a-f]{64}$/.test(argument?.getValue() ?? "")) pinned.add(`\${${argument.getName()}}`);
  }
  for (const from of parsed.getFROMs()) {
    const image = from.getImage();
    expect(stages.has(image) || pinned.has(image), `Dockerfile: FROM ${image}: expected a stage, or an argument that is an image with tag and digest`);
    if (from.getBuildStage()) stages.add(from.getBuildStage());
  }
  for (const each of parsed.getInstructions()) {
    expect(instructions.includes(each.getKeyword()), `Dockerfile: unexpected ${each.getKeyword()}`);
  }
  for (const copy of parsed.getCOPYs()) {
    const stage = copy.getFromFlag()?.getValue();
    const source = copy.getArguments()[0].getValue();
    if (stage) expect(stages.has(stage), `Dockerfile: COPY from ${stage}, which is no stage`);
    else expect(existsSync(join(root, source)), `Dockerfile: COPY ${source}, which is not there`);
  }
  for (const run of parsed.getInstructions().filter((each) => each.getKeyword() === "RUN")) {
    const script = /(?:^|\s)(scripts\/\S+)/.exec(run.getArgumentsContent() ?? "");
    if (script) expect(existsSync(join(root, script[1])), `Dockerfile: RUN ${script[1]}, which is not there`);
  }
}

function checkScripts() {
  for (const script of ["container/install_network.sh", "slurm/duet.sbatch", "slurm/enroot.sh"]) {
    const { status, stderr } = spawnSync("bash", ["-n", join(root, "deploy", script)], { encoding: "utf8" });
    expect(status === 0, `${script}: ${stderr}`);
  }
}

checkManifests();
checkDockerfile();
checkScripts();
for (const problem of problems) console.error(`FAIL: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
