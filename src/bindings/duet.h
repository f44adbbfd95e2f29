/* Duet's collectives and journals for C, and for all languages that call C: docs/c.md.
 *
 * - Handles are opaque. What a function opens is closed by the function named beside it.
 * - Option structs begin with `size`, which the caller sets to sizeof. A field that is 0 has its
 *   default. A longer struct than the library knows is refused where its further bytes are not 0,
 *   a shorter one is completed with 0. So set all of a struct to 0 first.
 * - Every function that can fail returns a duet_status; duet_last_error() then has one line that
 *   names what was expected. No C++ exception leaves a function.
 * - Collective functions are called by all ranks of all processes in the same order, with equal
 *   arguments but for buffers. They block until the ranks have come, at most for 60 s where nothing
 *   else is said; duet_comm_close() and the end of duet_comm_each() have no deadline.
 * - Functions of a rank, and what it has made, are called by one thread at a time: any thread on
 *   real devices, that of duet_comm_each() on simulated ones. duet_comm_interrupt(),
 *   duet_comm_failure() and duet_comm_abandon() may be called by any thread at any time.
 * - Times are in seconds, sizes in bytes, counts in elements.
 */
#ifndef DUET_H
#define DUET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DUET_NOEXCEPT noexcept
extern "C" {
#else
#define DUET_NOEXCEPT
#endif

#define DUET_API __attribute__((visibility("default")))

/* Major * 10000 + minor * 100 + patch of the library that is loaded. */
DUET_API uint32_t duet_version(void) DUET_NOEXCEPT;

typedef int32_t duet_status;
enum {
  DUET_OK = 0,
  DUET_ERROR = 1,        /* of a driver or library */
  DUET_USAGE_ERROR = 2,  /* a device, engine or variable that does not exist */
  DUET_BAD_ARGUMENT = 3, /* wrong sizes, handles, or ranks in different calls */
  DUET_UNAVAILABLE = 4,  /* not possible on these devices */
  DUET_OUT_OF_MEMORY = 5,
  DUET_TIMEOUT = 6,     /* a wait passed its deadline */
  DUET_PEER_FAILED = 7, /* another rank or process failed or died */
  DUET_INTERRUPTED = 8  /* by duet_comm_interrupt() */
};
/* "bad argument"; of an unknown number "unknown status". */
DUET_API const char* duet_status_name(duet_status status) DUET_NOEXCEPT;
/* What the calling thread's last failed function said; "" before the first. Valid until the
 * thread's next call of a duet function. */
DUET_API const char* duet_last_error(void) DUET_NOEXCEPT;

/* A text that the library made. */
typedef struct duet_text duet_text;
DUET_API const char* duet_text_data(const duet_text* text) DUET_NOEXCEPT; /* ends with NUL */
DUET_API size_t duet_text_length(const duet_text* text) DUET_NOEXCEPT;    /* without the NUL */
DUET_API void duet_text_free(duet_text* text) DUET_NOEXCEPT;              /* NULL: nothing */

/* ---- Communicators ------------------------------------------------------------------------- */

/* How processes find each other where neither mpirun or srun nor environment variables tell them.
 * `broadcast` is called once by every process, on the thread that opens the communicator: it gives
 * all what process 0 has in `bytes` (`*length` of at most `capacity`), and sets *done to 1; the
 * library has set it to 0, which is a failure. A process that is alone (count 1) calls nothing.
 * Without `broadcast`: `address` and `port` of process 0, and a `token` of 16 characters or more
 * that only the run's processes know, or "" where the address is a loopback one. */
typedef struct duet_bootstrap {
  uint64_t size;
  int32_t index;       /* of this process */
  int32_t count;       /* of processes */
  int32_t has_local;   /* whether local_index is known; else a GPU must be named */
  int32_t local_index; /* among the processes of this node: cuda then means this GPU */
  int32_t one_node;    /* all processes are on one node: they connect by loopback */
  int32_t port;
  void (*broadcast)(void* user, void* bytes, uint64_t capacity, uint64_t* length, int32_t* done);
  void* user;
  const char* address;
  const char* token;
} duet_bootstrap;

typedef struct duet_comm_options {
  uint64_t size;
  const char* device; /* "cuda", "cuda:0,1", "hip", "host:4", "sim:h200-4"; NULL: "cuda" */
  const char* engine; /* "auto", "dma", "kernel" or a library's, as "nccl"; NULL: "auto" */
  const duet_bootstrap* bootstrap; /* NULL: by mpirun, srun or the environment; or alone */
  double deadline;                 /* for all processes to connect; 0: 60 */
  int32_t port;                    /* of process 0 at MASTER_ADDR; 0: MASTER_PORT, or 29500 */
  int32_t node_size;               /* so many consecutive ranks are a node; 0: as found */
} duet_comm_options;

typedef struct duet_comm duet_comm;
typedef struct duet_rank duet_rank; /* ends with its communicator */

/* Collective over processes. Connects them, opens devices and engine. NULL: default options. */
DUET_API duet_status duet_comm_open(const duet_comm_options* options,
                                    duet_comm** comm) DUET_NOEXCEPT;
/* Collective over processes. DUET_BAD_ARGUMENT, and it stays open, while calls, memory, streams,
 * overlaps, exchanges or groups of it exist. */
DUET_API duet_status duet_comm_close(duet_comm* comm) DUET_NOEXCEPT;
/* Not collective, for who ends without the others: to other processes this one is gone, as if it
 * had died, so that none waits for it. What belongs to the communicator stays allocated until the
 * process ends, and must not be used. NULL: nothing.
 */
DUET_API void duet_comm_abandon(duet_comm* comm) DUET_NOEXCEPT;

typedef struct duet_comm_info {
  uint64_t size;
  int32_t ranks;       /* of all processes */
  int32_t local_ranks; /* of this process */
  int32_t first_local; /* the lowest of this process */
  int32_t reserved;    /* 0 */
} duet_comm_info;
DUET_API duet_status duet_comm_get_info(duet_comm* comm, duet_comm_info* info) DUET_NOEXCEPT;
/* Why calls that are under way may have no result; "" if all is well. From any thread. */
DUET_API duet_status duet_comm_failure(duet_comm* comm, duet_text** why) DUET_NOEXCEPT;
/* From any thread: what waits for other ranks ends with DUET_INTERRUPTED in this process and with
 * DUET_PEER_FAILED in others. Calls planned before cannot be used any more, others can be planned.
 * On simulated machines it ends the current duet_comm_each(), or else the next, and what its ranks
 * wait for each other for; what runs in a rank's function runs on until its next collective
 * function or enqueue.
 */
DUET_API duet_status duet_comm_interrupt(duet_comm* comm) DUET_NOEXCEPT;

/* A rank of this process, 0 to local_ranks - 1, on real devices. Ranks of one process must not be
 * called one after the other by one thread, since collective functions wait for all of them: use a
 * thread for each, or a process. */
DUET_API duet_status duet_comm_rank(duet_comm* comm, int32_t local, duet_rank** rank) DUET_NOEXCEPT;
/* Runs fn for every rank of this process, each on a thread of its own, and returns when all ranks
 * of all processes have ended: the only way on simulated machines. The library sets
 * `*done` to 0; a function that leaves it so has failed, and with it the ranks of all processes. */
typedef void (*duet_rank_function)(void* user, duet_rank* rank, int32_t* done);
DUET_API duet_status duet_comm_each(duet_comm* comm, duet_rank_function fn,
                                    void* user) DUET_NOEXCEPT;

typedef struct duet_rank_info {
  uint64_t size;
  int32_t index;           /* among all ranks */
  int32_t local;           /* among those of this process */
  int32_t ordinal;         /* of its device in CUDA or HIP; -1: it has none */
  int32_t cpu_addressable; /* whether the CPU may use its memory */
  char kind[16];           /* "cuda", "hip", "host", "sim" */
  char model[64];          /* "NVIDIA H200" */
} duet_rank_info;
DUET_API duet_status duet_rank_get_info(duet_rank* rank, duet_rank_info* info) DUET_NOEXCEPT;

typedef struct duet_groups duet_groups;
/* Collective over processes, while no function of a rank is under way: divides the ranks into
 * groups of `group_ranks`, which make collectives among themselves. `ranks` has those of the first
 * group, those of the second ..., all ranks of the communicator, rising within a group. By Duet's
 * own engines; DUET_UNAVAILABLE where processes have ranks of different numbers of groups. After a
 * failure of ranks, divide anew. */
DUET_API duet_status duet_comm_divide(duet_comm* comm, const int32_t* ranks, int32_t group_ranks,
                                      duet_groups** groups) DUET_NOEXCEPT;
/* A rank of the communicator as one of its group, with `index` in the group, for all functions of a
 * rank; in duet_sizes() the group's ranks count. All ranks of the communicator make the same calls
 * as ranks of their groups, each with its own group's data: barriers and failures are those of all.
 * It ends with the groups; on a simulated machine it is used inside of duet_comm_each(). */
DUET_API duet_status duet_groups_rank(duet_groups* groups, duet_rank* rank,
                                      duet_rank** in_group) DUET_NOEXCEPT;
/* Not collective; calls of its ranks have been retired. NULL: nothing. */
DUET_API void duet_groups_close(duet_groups* groups) DUET_NOEXCEPT;

/* Collective; `what` ends the sentence "waiting for ..."; seconds 0: 60. */
DUET_API duet_status duet_barrier(duet_rank* rank, const char* what, double seconds) DUET_NOEXCEPT;

/* ---- Memory and streams -------------------------------------------------------------------- */

typedef struct duet_memory duet_memory;
/* Memory of the rank's device, of the kind that suits the engine best, aligned to 256 bytes,
 * uninitialised. Collective: all ranks allocate as many times. Where one is out of memory the
 * others notice at their next collective function. */
DUET_API duet_status duet_allocate(duet_rank* rank, uint64_t bytes,
                                   duet_memory** memory) DUET_NOEXCEPT;
DUET_API void* duet_memory_data(const duet_memory* memory) DUET_NOEXCEPT;
DUET_API uint64_t duet_memory_bytes(const duet_memory* memory) DUET_NOEXCEPT;
/* Copies from or to the CPU's memory; not ordered with streams: synchronise them first. */
DUET_API duet_status duet_memory_write(duet_memory* memory, uint64_t offset, const void* from,
                                       uint64_t bytes) DUET_NOEXCEPT;
DUET_API duet_status duet_memory_read(duet_memory* memory, uint64_t offset, void* to,
                                      uint64_t bytes) DUET_NOEXCEPT;
/* Not collective. The calls that use it must have been retired on all ranks. NULL: nothing. */
DUET_API void duet_memory_free(duet_memory* memory) DUET_NOEXCEPT;

typedef struct duet_stream duet_stream;
DUET_API duet_status duet_stream_open(duet_rank* rank, duet_stream** stream) DUET_NOEXCEPT;
/* Its cudaStream_t or hipStream_t; NULL where the device has none. */
DUET_API void* duet_stream_native(duet_stream* stream) DUET_NOEXCEPT;
/* Blocks until its work is done; DUET_TIMEOUT after `seconds` (0: 60). */
DUET_API duet_status duet_stream_synchronize(duet_stream* stream, double seconds) DUET_NOEXCEPT;
DUET_API void duet_stream_close(duet_stream* stream) DUET_NOEXCEPT; /* NULL: nothing */

/* ---- Collectives --------------------------------------------------------------------------- */

enum { /* duet_collective.kind */
       DUET_ALL_GATHER = 0,
       DUET_ALL_TO_ALL = 1,
       DUET_ALL_TO_ALL_V = 2,
       DUET_BROADCAST = 3,
       DUET_GATHER = 4,
       DUET_SCATTER = 5,
       DUET_SEND_RECV = 6,
       DUET_REDUCE_SCATTER = 7,
       DUET_ALL_REDUCE = 8,
       DUET_NEIGHBOR_EXCHANGE = 9
};
enum { DUET_FP32 = 0, DUET_FP16 = 1, DUET_BF16 = 2, DUET_INT8 = 3, DUET_INT32 = 4 }; /* dtype */
/* row_sums: each multiplication adds to what has come from other ranks; a kernel adds behind them.
 */
enum { DUET_BY_COMPUTE = 0, DUET_IN_SLOTS = 1 };
enum { DUET_SUM = 0, DUET_MAX = 1, DUET_MIN = 2, DUET_AVG = 3 }; /* op */

/* `count` is of a rank's chunk (all_gather, gather, scatter, reduce_scatter), a pair's chunk
 * (all_to_all), a neighbour's chunk (neighbor_exchange) or the whole buffer (broadcast, send_recv,
 * all_reduce). int8 means bytes and does not reduce. */
typedef struct duet_collective {
  uint64_t size;
  int32_t kind;
  int32_t dtype;
  int32_t op;
  int32_t root; /* broadcast, gather, scatter */
  uint64_t count;
  /* all_to_all_v: elements from rank f to rank t at [f * ranks + t], ranks * ranks of them;
   * neighbor_exchange: elements of each rank's send buffer, or NULL for twice `count`. */
  const uint64_t* counts;
  uint64_t counts_length;
  int32_t ring; /* neighbor_exchange: so many consecutive ranks are neighbours; 0: all */
  /* all_gather, reduce_scatter and all_reduce whose buffers are rows that the program multiplies
   * within the call (duet_enqueue_rows()): the elements of a row; 0: nothing is multiplied. */
  int32_t row_ranges; /* each rank's rows are sent in so many ranges; 0: all at once */
  uint64_t row_columns;
  int32_t row_sums;    /* DUET_BY_COMPUTE, DUET_IN_SLOTS */
  int32_t row_streams; /* ranges are multiplied on so many streams in turns, 1 or 2; 0: 1 */
  /* An all_reduce that sums fp32, fp16 or bf16, and ends with a residual and RMSNorm
   * (duet_plan_buffers()): the elements of a row; 0: it ends with the sum. */
  uint64_t norm_columns;
  double norm_epsilon;
} duet_collective;

/* Bytes of a rank's buffers; 0 where it has none. */
DUET_API duet_status duet_sizes(const duet_collective* collective, int32_t rank, int32_t ranks,
                                uint64_t* send, uint64_t* recv) DUET_NOEXCEPT;

typedef struct duet_call duet_call;
/* Collective: binds a collective to buffers, of Duet's memory or of the device's own (cudaMalloc),
 * of at least the sizes that duet_sizes() gives; NULL where that is 0. Buffers must outlive the
 * call. On `host` all buffers must be Duet's. A wrong argument of one rank is DUET_BAD_ARGUMENT for
 * all ranks, which may go on: so a rank that has no arguments to give calls it with NULL. */
DUET_API duet_status duet_plan(duet_rank* rank, const duet_collective* collective, const void* send,
                               uint64_t send_bytes, void* recv, uint64_t recv_bytes,
                               duet_call** call) DUET_NOEXCEPT;
/* Of a call: `send` and `recv` as of duet_plan(). Of a collective with `norm_columns`, by rows,
 * with s the sum of all ranks' `send`: `updated` = `residual` + s, and `recv` = `updated` /
 * sqrt(mean of `updated`^2 + norm_epsilon) * `weight`. `residual` and `updated` have the size of
 * `recv`, and may be one; `weight` has a row. These three are the rank's alone, any memory of its
 * device, on `host` too, and overlap no other buffer; NULL of other collectives. */
typedef struct duet_buffers {
  uint64_t size;
  const void* send;
  uint64_t send_bytes;
  void* recv;
  uint64_t recv_bytes;
  const void* residual;
  uint64_t residual_bytes;
  void* updated;
  uint64_t updated_bytes;
  const void* weight;
  uint64_t weight_bytes;
} duet_buffers;
/* duet_plan() by a struct. */
DUET_API duet_status duet_plan_buffers(duet_rank* rank, const duet_collective* collective,
                                       const duet_buffers* buffers, duet_call** call) DUET_NOEXCEPT;
/* Adds the collective to a cudaStream_t or hipStream_t of the rank's device, NULL being the default
 * stream, and returns without waiting. All ranks enqueue the same calls in the same order. May be
 * captured in a CUDA graph. On any thread, one at a time for each rank. */
DUET_API duet_status duet_enqueue(duet_call* call, void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_enqueue_on(duet_call* call, duet_stream* stream) DUET_NOEXCEPT;
/* Whether duet_enqueue_at() may be called, 1 or 0: of small calls that go by packets, on GPUs, and
 * some of a communicator of one rank. The same on all ranks. NULL: 0. */
DUET_API int32_t duet_call_takes_buffers(const duet_call* call) DUET_NOEXCEPT;
/* duet_enqueue(), in this call with the rank's data elsewhere than where they were when it was
 * planned: in buffers of the same sizes, of the rank's device, aligned to 8 bytes, which may be
 * others in each call and on each rank. `residual`, `updated` and `weight`: of a collective with
 * `norm_columns`, else NULL. Where they cannot be used the result is DUET_BAD_ARGUMENT, and nothing
 * is enqueued. */
DUET_API duet_status duet_enqueue_at(duet_call* call, void* native_stream, const void* send,
                                     void* recv, const void* residual, void* updated,
                                     const void* weight) DUET_NOEXCEPT;
DUET_API duet_status duet_enqueue_at_on(duet_call* call, duet_stream* stream, const void* send,
                                        void* recv, const void* residual, void* updated,
                                        const void* weight) DUET_NOEXCEPT;
/* Rows of a matrix that are multiplied at once. Of an all_gather they are rows of a factor, which
 * stand in `place`; of a reduction rows of the rank's partial sums, which come to `place` or, if
 * `adds` is 1, are added to what is there. Rows of other `stream` (0 or 1) may be multiplied at the
 * same time. */
typedef struct duet_rows {
  uint64_t size;
  uint64_t first; /* of all rows */
  uint64_t count;
  void* place;
  uint64_t place_bytes;
  int32_t adds;
  int32_t stream;
} duet_rows;
/* Enqueues their multiplication on `native_stream`, a cudaStream_t or hipStream_t, without waiting;
 * NULL is the default stream, and where the device has no such streams all that there is. The
 * library sets *done to 0; a function that leaves it so has failed, and with it the calls of all
 * ranks. */
typedef void (*duet_rows_function)(void* user, const duet_rows* rows, void* native_stream,
                                   int32_t* done);
/* duet_enqueue() of a collective with rows: `multiply` is called during this function, once or for
 * several ranges of rows, in any order, that together are all rows. What is enqueued on the stream
 * behind the call sees all. duet_enqueue() of such a collective communicates alone. */
DUET_API duet_status duet_enqueue_rows(duet_call* call, void* native_stream,
                                       duet_rows_function multiply, void* user) DUET_NOEXCEPT;
DUET_API duet_status duet_enqueue_rows_on(duet_call* call, duet_stream* stream,
                                          duet_rows_function multiply, void* user) DUET_NOEXCEPT;
/* The algorithm that the engine chose, for logs. Valid while the call exists. */
DUET_API const char* duet_call_algorithm(const duet_call* call) DUET_NOEXCEPT;
/* Collective: ends a call whose streams have been synchronised; its buffers may then be freed. The
 * handle is gone, also after an error. */
DUET_API duet_status duet_retire(duet_rank* rank, duet_call* call) DUET_NOEXCEPT;
/* Not collective: the same where peers may not come. Memory that they may still use is freed by a
 * later duet_plan() or duet_retire(), or with the communicator. NULL: nothing. */
DUET_API void duet_call_drop(duet_call* call) DUET_NOEXCEPT;

/* ---- Compute beside collectives ------------------------------------------------------------- */

/* Works that run at the same time on one device, with the streams and events that a policy needs:
 * docs/overlap.md has the policies. The works of a call run in no defined order: none may access
 * what another writes. Earlier work of the stream precedes all of them, and later work follows all
 * of them. Nothing here is collective or waits; all ranks make the same calls in the same order. A
 * call may be captured in a CUDA graph. */
typedef struct duet_overlap duet_overlap;
/* `policy`: "serial", "base", "priority", "zero-cta" or "dma"; NULL: "dma". The engine that belongs
 * to it is the communicator's business: duet_overlap_engine(). `works`: of a call at most; 0: 2.
 * DUET_UNAVAILABLE for policies with a partition of compute units. */
DUET_API duet_status duet_overlap_open(duet_rank* rank, const char* policy, int32_t works,
                                       duet_overlap** overlap) DUET_NOEXCEPT;
/* A collective beside compute that the program enqueues on the same stream between these two
 * functions. duet_overlap_begin() forks from the stream and enqueues the collective where the
 * policy has it first, else duet_overlap_end() does, behind which the stream waits for it. Each
 * begin is ended before the next, also where compute has failed: peers wait for the collective.
 * Where begin fails there is nothing to end. `native_stream`: as of duet_enqueue(). Stream and call
 * live until the end. */
DUET_API duet_status duet_overlap_begin(duet_overlap* overlap, duet_call* call,
                                        void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_overlap_begin_on(duet_overlap* overlap, duet_call* call,
                                           duet_stream* stream) DUET_NOEXCEPT;
DUET_API duet_status duet_overlap_end(duet_overlap* overlap) DUET_NOEXCEPT;
/* Enqueues a work on `stream`, which the library lends the function, without waiting. The library
 * sets *done to 0; a function that leaves it so has failed. */
typedef void (*duet_work_function)(void* user, duet_stream* stream, int32_t* done);
/* One of several works: a function, or a call. */
typedef struct duet_overlap_work {
  uint64_t size;
  double workgroups; /* that its kernels occupy at a time, equal on all ranks; 0: by copy engines */
  duet_call* call;   /* or NULL */
  duet_work_function enqueue; /* where there is no call */
  void* user;
} duet_overlap_work;
/* `count` works that follow each other in memory, of equal `size`. The one that needs the fewest
 * workgroups is enqueued first ("serial" and "base": as given), and the one that needs the most
 * runs on the stream itself. The first error is returned; all are enqueued as far as possible and
 * the stream waits for them, so that no peer waits and the next call works. */
DUET_API duet_status duet_overlap_enqueue(duet_overlap* overlap, const duet_overlap_work* works,
                                          int32_t count, void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_overlap_enqueue_on(duet_overlap* overlap, const duet_overlap_work* works,
                                             int32_t count, duet_stream* stream) DUET_NOEXCEPT;
/* When what was begun is ended and the work that it enqueued is done. NULL: nothing. */
DUET_API void duet_overlap_close(duet_overlap* overlap) DUET_NOEXCEPT;
/* duet_comm_options.engine for a policy on a device, as duet_comm_options.device names it. */
DUET_API duet_status duet_overlap_engine(const char* policy, const char* device,
                                         duet_text** engine) DUET_NOEXCEPT;

/* ---- Tokens and their experts ---------------------------------------------------------------- */

/* Rows of tokens that go to the ranks of the experts that they have chosen, and back as weighted
 * sums, for any routing: docs/library.md. */
typedef struct duet_exchange_options { /* equal on all ranks */
  uint64_t size;
  int64_t tokens;            /* of each rank at most */
  int64_t hidden;            /* elements of a token's row; on GPUs a multiple of 8 */
  int64_t experts;           /* of all ranks, which divide them in order: a multiple of the ranks */
  int64_t chosen;            /* experts of a token, at most 32 */
  int32_t dtype;             /* of rows: DUET_FP32, on GPUs also DUET_BF16 */
  int32_t results_over_rows; /* 1: results are rows, for experts that no longer read them */
} duet_exchange_options;
typedef struct duet_exchange duet_exchange;
/* Collective. A wrong argument of one rank is DUET_BAD_ARGUMENT for all, which may go on. */
DUET_API duet_status duet_exchange_open(duet_rank* rank, const duet_exchange_options* options,
                                        duet_exchange** exchange) DUET_NOEXCEPT;
/* Its memory, of which the handles end with it and are not freed. int32 are experts, offsets and
 * places; rows, results, tokens and out have `dtype`. */
typedef struct duet_exchange_info {
  uint64_t size;
  duet_memory* tokens; /* (tokens, hidden): the program writes this rank's rows */
  /* (tokens, 2 * chosen): the program, or duet_exchange_choose(), writes in each row the experts,
   * and behind them their weights, fp32; an expert of -1 adds nothing. */
  duet_memory* routing;
  /* After duet_exchange_dispatch(): (most_rows, hidden) the rows of this rank's experts, by expert
   * and then by token of all ranks; (own_experts + 1) where those of each expert begin, and where
   * the last one's end. */
  duet_memory* rows;
  duet_memory* offsets;
  duet_memory* results; /* as rows: the program's experts write */
  duet_memory* out;     /* (tokens, hidden): after duet_exchange_combine() */
  /* For backward passes, of the tokens of all ranks: routing, and (ranks * tokens, chosen) where in
   * rows a choice stands, or -1. duet_exchange_combine() reads both. */
  duet_memory* all_routing;
  duet_memory* places;
  int64_t most_rows;
  int64_t own_experts; /* of this rank */
  int64_t first_expert;
} duet_exchange_info;
DUET_API duet_status duet_exchange_get_info(duet_exchange* exchange,
                                            duet_exchange_info* info) DUET_NOEXCEPT;
/* These enqueue on a stream, as duet_enqueue() and duet_enqueue_on() do. All ranks make the same
 * calls in the same order. What one fails by fails the calls of all ranks, but for
 * DUET_BAD_ARGUMENT.
 *
 * duet_exchange_choose() is what a router does: of each of `tokens` tokens the experts with the
 * largest of `logits` (tokens, experts), fp32, of equal ones the lower expert, and their weights:
 * the softmax over all experts, divided by the sum of the chosen ones where `normalised` is 1. The
 * other tokens are left out. */
DUET_API duet_status duet_exchange_choose(duet_exchange* exchange, const float* logits,
                                          int64_t tokens, int32_t normalised,
                                          void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_choose_on(duet_exchange* exchange, const float* logits,
                                             int64_t tokens, int32_t normalised,
                                             duet_stream* stream) DUET_NOEXCEPT;
/* Tokens from the `first` on choose nothing: of a rank that has fewer than others, or none. */
DUET_API duet_status duet_exchange_leave_out(duet_exchange* exchange, int64_t first,
                                             void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_leave_out_on(duet_exchange* exchange, int64_t first,
                                                duet_stream* stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_dispatch(duet_exchange* exchange,
                                            void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_dispatch_on(duet_exchange* exchange,
                                               duet_stream* stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_combine(duet_exchange* exchange,
                                           void* native_stream) DUET_NOEXCEPT;
DUET_API duet_status duet_exchange_combine_on(duet_exchange* exchange,
                                              duet_stream* stream) DUET_NOEXCEPT;
/* Collective: ends an exchange whose streams have been synchronised, with its memory. The handle is
 * gone, also after an error. */
DUET_API duet_status duet_exchange_retire(duet_rank* rank, duet_exchange* exchange) DUET_NOEXCEPT;
/* Not collective: the same where peers may not come. The work that all ranks enqueued must be done,
 * since they write to each other's memory. NULL: nothing. */
DUET_API void duet_exchange_drop(duet_exchange* exchange) DUET_NOEXCEPT;

/* ---- Journals ------------------------------------------------------------------------------ */

/* A verdict for each result of a journal, a JSON object a line, as `duet report` says them:
 * docs/verdicts.md. `text` is the journal's contents; `name` is for messages. */
DUET_API duet_status duet_verdicts(const char* name, const char* text, size_t length,
                                   duet_text** verdicts) DUET_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
