// Text as training data: a file as tokens, its split into a training and an evaluation part, and
// batches of both. There are three kinds of files:
// - as llm.c (github.com/karpathy/llm.c, dev/data/data_common.py) writes them for GPT-2, little
//   endian: a header of 256 int32 (magic 20240520, version 1, number of tokens), then 16-bit
//   tokens;
// - as it writes them for Llama 3, for vocabularies above 65,536: magic 20240801, version 7, then
//   32-bit tokens;
// - all others: each byte is a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace duet {

// Tokens are read when they are asked for, by one call of the operating system for each range, so
// that a file may be larger than memory. Several threads may read at once. Every token that is
// handed out is below the vocabulary, even if the file is changed while it is in use.
class TokenFile {
 public:
  // Throws UsageError that names the file and what was expected. A file of llm.c's is read
  // once as a whole, to check every token against the vocabulary; one of bytes is not read, as
  // bytes are below the least vocabulary that is accepted for them, 256.
  TokenFile(const std::string& path, std::int64_t vocabulary);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t count() const { return count_; }  // of tokens, at least 1
  bool of_bytes() const { return token_bytes_ == 1; }

  // Of the tokens or, if there are many, of pieces of them: equal files have the same.
  std::uint64_t digest() const;

  // Writes tokens [first, first + count) to `tokens`. Throws UsageError if the file has become
  // shorter or has got a token beyond the vocabulary, and BadArgument for a range beyond count().
  void read(std::int64_t first, std::int64_t count, std::int32_t* tokens) const;

 private:
  TokenFile(const std::string& path, std::int64_t vocabulary, int descriptor);
  void read_kind(std::int64_t file_bytes);
  void read_header(std::int64_t file_bytes);
  std::size_t read_bytes(std::int64_t at, std::size_t count, unsigned char* bytes) const;

  std::string path_;
  std::int64_t vocabulary_;
  int descriptor_;
  std::int64_t header_bytes_ = 0;
  std::int64_t token_bytes_ = 1;
  std::int64_t count_ = 0;
};

// Sequences of a batch, one after the other. targets[i] is the token after tokens[i] in the file.
struct TokenBatch {
  std::vector<std::int32_t> tokens, targets;  // batch * sequence each
};

// The training part is the beginning of a file, the evaluation part the rest.
class TokenSplit {
 public:
  // The evaluation part has `evaluation_share` of the tokens, rounded to the nearest number, but at
  // least sequence + 1; with a share of 0 there is none. Throws UsageError if the share is not
  // from 0 to below 1, or if a part is shorter than sequence + 1 tokens. The file must outlive it.
  TokenSplit(const TokenFile& file, double evaluation_share, std::int64_t sequence);

  std::int64_t training_tokens() const { return training_tokens_; }
  std::int64_t evaluation_tokens() const { return file_.count() - training_tokens_; }

  // In all calls below, a batch without sequences, or sequences that do not fit into the part, are
  // a BadArgument.

  // Each sequence begins at a random place, which depends on (seed, step, index in the batch)
  // alone: a resumed run continues with the batches that it would have had. Reads only the training
  // part, targets included. Places are drawn independently, so that sequences may overlap. `first`:
  // the first sequence's index, where ranks share a batch.
  TokenBatch training_batch(std::uint64_t seed, std::int64_t step, std::int64_t batch,
                            std::int64_t sequence, std::int64_t first = 0) const;

  // The evaluation part is cut into consecutive sequences: the last target of one is the first
  // token of the next. Batch `index`, from 0 to below evaluation_batches(), has the sequences from
  // index * batch on. If the part has fewer sequences than one batch, that batch repeats them from
  // the first on. Of the batch, sequences [first, first + count) are returned: where ranks share
  // it.
  TokenBatch evaluation_batch(std::int64_t index, std::int64_t batch, std::int64_t sequence,
                              std::int64_t first, std::int64_t count) const;
  TokenBatch evaluation_batch(std::int64_t index, std::int64_t batch, std::int64_t sequence) const {
    return evaluation_batch(index, batch, sequence, 0, batch);
  }
  // How many whole batches the evaluation part has, but at least 1 (0 without such a part).
  // Sequences after the last whole batch are in none.
  std::int64_t evaluation_batches(std::int64_t batch, std::int64_t sequence) const;

 private:
  std::int64_t evaluation_sequences(std::int64_t batch, std::int64_t sequence) const;
  TokenBatch batch_from(const std::vector<std::int64_t>& starts, std::int64_t sequence) const;

  const TokenFile& file_;
  std::int64_t training_tokens_;
};

}  // namespace duet
