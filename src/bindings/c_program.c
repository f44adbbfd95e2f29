/* A process of a run in C99: c_program INDEX COUNT FOLDER. Processes find each other through a file
 * in the folder; each gathers the numbers of all and, beside that, sums them, and prints both and
 * the norm of another sum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bindings/duet.h"

static const char* folder;
static int own_index;

static void pause_briefly(void) {
  const struct timespec time = {0, 1000000};
  nanosleep(&time, NULL);
}

/* Process 0 writes what the others read. */
static void by_file(void* user, void* bytes, uint64_t capacity, uint64_t* length, int32_t* done) {
  char part[4096], whole[4096];
  FILE* file;
  int tries;
  (void)user;
  snprintf(part, sizeof part, "%s/address.part", folder);
  snprintf(whole, sizeof whole, "%s/address", folder);
  if (own_index == 0) {
    file = fopen(part, "wb");
    if (file == NULL || fwrite(bytes, 1, (size_t)*length, file) != *length) return;
    if (fclose(file) != 0 || rename(part, whole) != 0) return;
    *done = 1;
    return;
  }
  for (tries = 0; tries < 30000; ++tries) {
    file = fopen(whole, "rb");
    if (file != NULL) {
      *length = fread(bytes, 1, (size_t)capacity, file);
      fclose(file);
      *done = 1;
      return;
    }
    pause_briefly();
  }
}

static void require(duet_status status) {
  if (status == DUET_OK) return;
  fprintf(stderr, "c_program: %s: %s\n", duet_status_name(status), duet_last_error());
  exit(1);
}

static duet_call* plan(duet_rank* rank, int32_t kind, duet_memory* send, duet_memory* recv) {
  duet_collective one;
  duet_call* call;
  memset(&one, 0, sizeof one);
  one.size = sizeof one;
  one.kind = kind;
  one.dtype = DUET_INT32;
  one.count = 1;
  require(duet_plan(rank, &one, duet_memory_data(send), duet_memory_bytes(send),
                    duet_memory_data(recv), duet_memory_bytes(recv), &call));
  return call;
}

/* A sum of two numbers of each process, in memory of its own but for what others reach. */
static void sum_and_normalise(duet_rank* rank, duet_stream* stream, float* normed) {
  const float part[2] = {1.0F, -1.0F}, weight[2] = {1.0F, 10.0F};
  float residual[2] = {5.0F, -5.0F};
  duet_collective one;
  duet_buffers buffers;
  duet_memory* sum;
  duet_call* call;
  memset(&one, 0, sizeof one);
  one.size = sizeof one;
  one.kind = DUET_ALL_REDUCE;
  one.dtype = DUET_FP32;
  one.count = one.norm_columns = 2;
  require(duet_allocate(rank, sizeof part, &sum));
  require(duet_memory_write(sum, 0, part, sizeof part));
  memset(&buffers, 0, sizeof buffers);
  buffers.size = sizeof buffers;
  buffers.send = buffers.recv = duet_memory_data(sum);
  buffers.residual = buffers.updated = residual;
  buffers.weight = weight;
  buffers.send_bytes = buffers.recv_bytes = sizeof part;
  buffers.residual_bytes = buffers.updated_bytes = buffers.weight_bytes = sizeof part;
  require(duet_plan_buffers(rank, &one, &buffers, &call));
  require(duet_enqueue_on(call, stream));
  require(duet_stream_synchronize(stream, 30));
  require(duet_memory_read(sum, 0, normed, sizeof part));
  require(duet_retire(rank, call));
  duet_memory_free(sum);
}

int main(int count, char** words) {
  duet_bootstrap bootstrap;
  duet_comm_options options;
  duet_comm* comm;
  duet_rank* rank;
  duet_memory *send, *recv, *sum;
  duet_stream* stream;
  duet_overlap* overlap;
  duet_call *gather, *reduce;
  int32_t mine, all[64], total;
  float normed[2];
  int processes, i;
  if (count != 4 || atoi(words[2]) > 64) {
    fprintf(stderr, "c_program: expected INDEX COUNT FOLDER, COUNT at most 64\n");
    return 2;
  }
  own_index = atoi(words[1]);
  processes = atoi(words[2]);
  folder = words[3];

  memset(&bootstrap, 0, sizeof bootstrap);
  bootstrap.size = sizeof bootstrap;
  bootstrap.index = own_index;
  bootstrap.count = processes;
  bootstrap.one_node = 1;
  bootstrap.broadcast = by_file;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = "host";
  options.bootstrap = &bootstrap;
  require(duet_comm_open(&options, &comm));
  require(duet_comm_rank(comm, 0, &rank));

  require(duet_allocate(rank, sizeof mine, &send));
  require(duet_allocate(rank, sizeof mine * (size_t)processes, &recv));
  require(duet_allocate(rank, sizeof mine, &sum));
  gather = plan(rank, DUET_ALL_GATHER, send, recv);
  reduce = plan(rank, DUET_ALL_REDUCE, send, sum);
  mine = 10 * (own_index + 1);
  require(duet_memory_write(send, 0, &mine, sizeof mine));
  require(duet_stream_open(rank, &stream));
  require(duet_overlap_open(rank, "dma", 0, &overlap));
  require(duet_overlap_begin_on(overlap, gather, stream));
  require(duet_enqueue_on(reduce, stream));
  require(duet_overlap_end(overlap));
  require(duet_stream_synchronize(stream, 30));
  require(duet_memory_read(recv, 0, all, sizeof mine * (size_t)processes));
  require(duet_memory_read(sum, 0, &total, sizeof total));
  printf("process %d received", own_index);
  for (i = 0; i < processes; ++i) printf(" %d", (int)all[i]);
  sum_and_normalise(rank, stream, normed);
  printf(", the sum is %d, normalised %g %g\n", (int)total, normed[0], normed[1]);
  duet_overlap_close(overlap);
  require(duet_retire(rank, gather));
  require(duet_retire(rank, reduce));
  duet_stream_close(stream);
  duet_memory_free(send);
  duet_memory_free(recv);
  duet_memory_free(sum);
  require(duet_comm_close(comm));
  return 0;
}
