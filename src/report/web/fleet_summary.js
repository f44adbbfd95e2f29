// The summary of a fleet: what `duet fleet` says in one line.
import { h } from './dom.js';

/** @returns {Node[]} */
export function fleetSummary({ data: { fleet } }) {
  const said = fleet.line.replace(/^duet fleet: (OK|FAIL): /, '');
  return [h(`p.headline.${fleet.findings ? 'bad' : 'good'}`, `${said}.`)];
}
