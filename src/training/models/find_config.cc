#include "training/models/find_config.h"

#include <fstream>
#include <sstream>

#include "core/units.h"

namespace duet {

bool is_model_file(const std::string& name) { return name != ".toml" && ends_with(name, ".toml"); }

std::string text_of_model_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) {
    throw UsageError(fmt::format("{}: cannot be read: expected a TOML file of a model", path));
  }
  return text.str();
}

}  // namespace duet
