// The weights of a model in a folder, as Hugging Face's transformers library keeps them:
// model.safetensors or, where there is no such file, those that model.safetensors.index.json names.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "team/team.h"
#include "training/files/checkpoint.h"

namespace duet {

// The whole text of a regular file of at most 16 MiB; `expected` ends the message of the UsageError
// for others.
std::string text_of_json_file(const std::string& path, const std::string& expected);

// Open for reading, as Checkpoint.
class WeightFiles {
 public:
  // Throws UsageError "FOLDER/FILE: what is wrong: expected ..." for files that cannot be read or
  // break their format, and unless every tensor is in the one file that the index says.
  explicit WeightFiles(const std::string& folder);

  // Reads all tensors, or the parts that are here, and converts them (Checkpoint::convert()). One
  // tensor may be read into several memories of different types. Throws UsageError, and has written
  // no tensor, unless the files have exactly these tensors with these shapes; then as
  // Checkpoint::load().
  void load(const std::vector<CheckpointTensor>& tensors) const;

 private:
  void open_shards(const std::string& folder, const std::string& index);
  const Checkpoint& file_of(const CheckpointTensor& tensor) const;

  std::string source_;  // what says which tensors there are: a file, for messages
  std::list<Checkpoint> files_;
  std::map<std::string, const Checkpoint*> file_of_;  // by tensor
};

// A model's tensors, each once, of one type each, and the text of its config.json.
struct SavedWeights {
  std::string folder;
  std::string config;
  std::vector<CheckpointTensor> tensors;
  std::uint64_t most_bytes;  // of the tensors of a file, unless a single one has more
  std::string run = {};      // that saves them (metadata_of_run())
};

// The metadata by which a file of weights tells the run that has saved it, beside the library's;
// "": none.
std::map<std::string, std::string> metadata_of_run(const std::string& run);

// True for names of files that saved weights or adapters have, and so a save may replace or remove:
// config.json, model.safetensors, its shards and index, adapter_config.json,
// adapter_model.safetensors.
bool is_file_of_saved_model(const std::string& name);

// Throws UsageError if the folder has such files, unless all weights among them are of this run;
// "": of none. A folder that is missing has none.
void require_no_other_model(const std::string& folder, const std::string& run);

// Creates the folder if it is missing. Throws UsageError if it is no folder and cannot become one.
void make_folder(const std::string& folder);

// Creates the folder if it is missing, and writes model.safetensors or, of more than `most_bytes`,
// model-00001-of-00002.safetensors ... with their index, and config.json. Tensors are divided in
// their order. Weights that are there are replaced, whoever saved them (require_no_other_model()),
// and those of their files that are no longer needed removed; other files of the folder stay.
//
// As save_checkpoints(), so the disk must have space for both models. A failure while files are
// written, as on a full disk, leaves the folder as it was. A failure or a crash while they are put
// in place leaves the old weights, the new ones, or, where files of both have the same names, a
// folder without index, which is refused. config.json comes after the weights: if sizes differ
// from those of the other model, loading refuses them. Throws UsageError if `folder` is no folder
// and cannot become one.
void save_weights(const SavedWeights& weights);
// By all ranks of a team, as save_checkpoint(Rank&, ...).
void save_weights(Rank& rank, const SavedWeights& weights);

}  // namespace duet
