// Groups records of training steps of several devices: a group for each model and size, with a curve over
// the number of devices for each engine, way of training in parallel and recipe.
import { spaces, wayText } from '../format.js';
import { differing, placeName, shortModel } from '../labels.js';
import { groupBy, ofSameCase } from '../model.js';
import { itemsOf, measuredSteps, parallelSteps, reportedOf } from './training_series.js';

/** @returns {number} how many devices make a step; of a record or a study's step */
export const devicesOf = ({ case: c, ranks }) => ranks ?? c?.ranks ?? 1;

/** @returns {number} tokens/s or samples/s of one of a step's devices; of a record or a study's step */
export const rateOf = (one) => itemsOf(one.rates ?? one) / devicesOf(one);

const isCpu = ({ place }) => place.kind === 'host';

/** Equal for the records of one panel: those of CPUs, which are far slower, have their own. */
const sizeKey = (record) => {
  const { model, layers, parameters, batch, sequence } = record.case;
  const size = [model, layers, parameters, batch, sequence];
  return [...size, isCpu(record) && 'cpu'].filter(Boolean).join('-');
};

/** What else of a step is not as usual. */
const variantOf = ({ case: c }) =>
  spaces(
    c.optimizer,
    c.accumulate > 1 && `${c.accumulate} batches a step`,
    c.recompute && `recompute ${c.recompute}`,
    c.update && `update ${c.update}`,
  );

/** Equal for one kind of device: parts of a CPU with different numbers of cores are different ones. */
const kindOf = ({ place }) => `${placeName({ ...place, count: 1 })}/${place.units}`;

/** Equal for steps that differ in engine and number of devices only. */
const stepKey = (record) =>
  [sizeKey(record), kindOf(record), record.case.recipe, variantOf(record)].join('/');

/** Names the kind of a record's device by the facts in which the kinds of some records differ. */
function kindNames(records) {
  const values = (of) => new Set(records.map(of)).size;
  const model = ({ place }) => shortModel(place.model);
  const simulated = ({ place }) => (place.simulated ? 'simulated' : '');
  const facts = differing(records, [model, simulated]);
  if (values((record) => `${model(record)}/${simulated(record)}`) < values(kindOf))
    facts.push(({ place }) => `${place.units} compute units`);
  return (record) => spaces(facts.map((fact) => fact(record)));
}

const journalName = ({ place }) => place.journal.name.replace(/\.jsonl(?=$| \()/, '');

/** What names curves of one engine and step by where they come from, the shortest first. */
const SOURCES = [() => '', journalName, (record) => `${journalName(record)} ${record.device}`];

/** Splits records of one engine and step so that no curve has two of the same number of devices. */
function split(records) {
  const one = (some) => new Set(some.map(devicesOf)).size === some.length;
  const ways = SOURCES.map((source) => groupBy(records, source));
  return ways.find((groups) => [...groups.values()].every(one)) ?? ways.at(-1);
}

/** Steps of another program are compared with its own. */
const isTorch = ({ engine }) => engine.startsWith('torch-');

/**
 * The step of one device that a step is compared with: one of its own journal, if there is one; of
 * PyTorch's, which have journals of their own, the fastest.
 */
function baseOf(record, single) {
  const some = single.filter(
    (one) => stepKey(one) === stepKey(record) && isTorch(one) === isTorch(record),
  );
  if (isTorch(record)) return some.sort((a, b) => rateOf(a) - rateOf(b)).at(-1);
  const own = some.filter(({ place }) => place.journal === record.place.journal);
  return own.at(-1) ?? some.at(-1);
}

function curvesOf(records, single) {
  const kindName = kindNames(records);
  const makers = groupBy(
    records,
    (record) => `${record.engine}/${wayText(record.case)}/${stepKey(record)}`,
  );
  return [...makers.values()].flatMap((made) =>
    [...split(made)].map(([source, some]) => {
      const own = [...groupBy(some, devicesOf).values()]
        .map((list) => list.at(-1))
        .sort((a, b) => devicesOf(a) - devicesOf(b));
      const last = own.at(-1);
      const base = baseOf(last, single);
      const nameOf = ({ engine, case: c }) =>
        spaces(kindName(last), engine, wayText(c), c.recipe, variantOf(last), source);
      return {
        name: nameOf(last),
        place: last.place,
        base,
        baseName: base ? nameOf(base) : '',
        points: base ? [base, ...own] : own,
        best: Math.max(...own.map(rateOf)),
      };
    }),
  );
}

/**
 * The steps of several devices, each way of training in parallel for itself. The first point of a curve is its `base`, a step of one device, if there
 * is one. Steps of one device are PyTorch's, those of engine duet or, without it, of parallel steps
 * without communication.
 * @returns {{key: string, cpu: boolean, case: Object, curves: Object[], reported: Object[]}[]} `case`: of
 *     one of the records; `reported`: the steps of studies
 */
export function scalingGroups(model) {
  const parallel = parallelSteps(model);
  const single = [
    ...parallel.filter((one) => one.engine === 'none' && devicesOf(one) === 1),
    ...measuredSteps(model).filter((one) => one.engine === 'duet' || isTorch(one)),
  ];
  const several = parallel.filter((one) => devicesOf(one) > 1);
  return [...groupBy(several, sizeKey)].map(([key, records]) => {
    const cpu = isCpu(records[0]);
    const known = cpu ? [] : (model.data.reported_parallel_steps ?? []);
    return {
      ...{ key, cpu, case: records[0].case },
      curves: curvesOf(records, single),
      reported: reportedOf(known, records[0].case),
    };
  });
}

/** @returns {Object|undefined} the rates of the record that says what a parallel step's communication costs */
export const communicationOf = (model, record) =>
  ofSameCase(model, record, 'train_communication')?.rates;
