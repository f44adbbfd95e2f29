// What the charts of collectives share.
export const RATE = 'busbw_gb_per_s';

/** @returns {string} the key of a panel: equal for all records of one call */
export const callKey = ({ case: c }) =>
  [c.collective, c.type, c.op, c.root, c.layout, c.in_place ? 'in-place' : 'out-of-place']
    .filter((part) => part !== undefined && part !== '')
    .join('/');
