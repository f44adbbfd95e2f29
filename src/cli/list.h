// Every command, in the order in which `duet --help` shows them. A workload's command is in its
// folder, in command/; most others are in src/cli/NAME.cc.
DUET_COMMAND(info)
#define DUET_WORKLOAD(name) DUET_COMMAND(name)
#include "workload/list.h"
#undef DUET_WORKLOAD
DUET_COMMAND(advise)
DUET_COMMAND(calibrate)
DUET_COMMAND(predict)
DUET_COMMAND(reproduce)
DUET_COMMAND(run)
DUET_COMMAND(health)
DUET_COMMAND(report)
DUET_COMMAND(trace)
DUET_COMMAND(compare)
DUET_COMMAND(import)
DUET_COMMAND(history)
DUET_COMMAND(fleet)
DUET_COMMAND(nccl_env)
DUET_COMMAND(completion)
DUET_COMMAND(complete)  // hidden: answers the scripts of `duet completion`
DUET_COMMAND(docs)      // hidden: prints docs/cli.md, the manual page or docs/journal.schema.json
