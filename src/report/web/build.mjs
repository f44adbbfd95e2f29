// Builds the report's template: page.html with script and style inlined, one file, no addresses.
// Run as: node build.mjs OUT.html NODE_MODULES_DIR
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const MARKER = '<!--DATA-->'; // where `duet report` inserts its data; fill checks that it is there once
const MOST_BYTES = 1.5e6; // of the template: every report carries it
const here = dirname(fileURLToPath(import.meta.url));

/** Resolves `all-charts` to a list of every module in charts/, so that a chart is added by its file. */
const charts = {
  name: 'charts',
  setup(build) {
    build.onResolve({ filter: /^all-charts$/ }, ({ path }) => ({ path, namespace: 'charts' }));
    build.onLoad({ filter: /.*/, namespace: 'charts' }, () => {
      const files = readdirSync(join(here, 'charts'))
        .filter((name) => name.endsWith('.js'))
        .sort();
      const imports = files.map((name, i) => `import * as c${i} from './charts/${name}';`);
      const list = `export default [${files.map((_, i) => `c${i}`).join(', ')}];`;
      return { contents: [...imports, list].join('\n'), resolveDir: here };
    });
  },
};

async function bundle(esbuild, entry, nodeModules) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'warning',
    nodePaths: [nodeModules],
    plugins: [charts],
  });
  return outputFiles[0].text;
}

/** Puts `text` in the place of `slot`, which stands in the page once. */
function fill(page, slot, text) {
  if (page.split(slot).length !== 2) throw new Error(`page.html: expected ${slot} exactly once`);
  return page.replace(slot, () => text);
}

const [out, modules] = process.argv.slice(2);
if (!out || !modules) {
  console.error('usage: node build.mjs OUT.html NODE_MODULES_DIR');
  process.exit(2);
}
const nodeModules = resolve(modules);
const esbuild = createRequire(join(nodeModules, 'noname.js'))('esbuild');
const script = await bundle(esbuild, 'main.js', nodeModules);
const style = await bundle(esbuild, 'style.css', nodeModules);
if (/<\/script|<!--/i.test(script)) throw new Error('main.js: would end its own <script> element');
if (/<\//.test(style)) throw new Error('style.css: would end its own <style> element');
let page = readFileSync(join(here, 'page.html'), 'utf8');
page = fill(page, '/*STYLE*/', style.trim());
page = fill(page, '/*SCRIPT*/', script.trim());
page = fill(page, MARKER, MARKER);
const size = Buffer.byteLength(page);
if (size >= MOST_BYTES) throw new Error(`${out}: ${size} bytes, expected under ${MOST_BYTES}`);
writeFileSync(out, page);
