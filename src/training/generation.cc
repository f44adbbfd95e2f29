#include "training/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace duet {
namespace {

constexpr std::size_t kBytes = 256;
constexpr double kPassSeconds = 600;  // the longest that a pass may take

// From 0 to below 1.
double uniform(std::uint64_t seed, std::uint64_t index) {
  return std::ldexp(static_cast<double>(random_word(seed, index) >> 11), -53);
}

// The byte at which the cumulated probability passes `place`, from 0 to below 1.
std::size_t drawn(const std::vector<float>& logits, double temperature, double place) {
  const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> weights;
  double sum = 0;
  for (const float each : logits) {
    weights.push_back(std::exp((static_cast<double>(each) - largest) / temperature));
    sum += weights.back();
  }
  double passed = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    passed += weights[i];
    if (passed > place * sum) return i;
  }
  return weights.size() - 1;
}

std::size_t chosen(std::vector<float> logits, double temperature, double place) {
  logits.resize(std::min(logits.size(), kBytes));
  const auto finite = [](float each) { return std::isfinite(each); };
  if (!std::all_of(logits.begin(), logits.end(), finite)) {
    throw Error("no text: the model's logits are not finite");
  }
  if (temperature > 0) return drawn(logits, temperature, place);
  const auto largest = std::max_element(logits.begin(), logits.end());
  return static_cast<std::size_t>(largest - logits.begin());
}

std::string found(const Checkpoint& checkpoint, const std::string& key) {
  const auto at = checkpoint.metadata().find(key);
  return at == checkpoint.metadata().end() ? "" : at->second;
}

void require_same_sizes(const std::string& path, const Checkpoint& checkpoint,
                        const TokenModelDescription& model) {
  std::map<std::string, std::string> sizes = model.sizes;
  sizes["sequence"] = fmt::format("{}", model.sequence);
  for (const auto& [key, value] : sizes) {
    if (found(checkpoint, key) == value) continue;
    throw UsageError(fmt::format("{}: its {} is '{}': expected {}, as --model and --sequence say",
                                 path, key, found(checkpoint, key), value));
  }
}

// The parameters, which may have another type in the file.
void load(const Checkpoint& checkpoint, const TokenModelDescription& description,
          const std::string& weights, const TokenModel& model) {
  std::vector<CheckpointTensor> trained, frozen;
  for (const Parameters::Kept& each : model.parameters().kept()) {
    const ModelParameter& about = *each.about;
    (about.frozen ? frozen : trained).push_back({about.name, each.tensors.parameters});
  }
  if (!frozen.empty()) {
    if (weights.empty()) throw UsageError("--generate: expected the base's folder as --model");
    description.folder.load(weights, frozen);
  }
  for (const CheckpointTensor& each : trained) checkpoint.require_convertible(each);
  for (const CheckpointTensor& each : trained) checkpoint.convert(each);
}

}  // namespace

std::string generate(const Generation& asked, std::int64_t sequence, const NextLogits& next) {
  std::vector<std::int32_t> tokens;
  for (const char each : asked.prompt.empty() ? "\n" : asked.prompt) {
    tokens.push_back(static_cast<unsigned char>(each));
  }
  std::string text;
  for (std::int64_t i = 0; i < asked.tokens; ++i) {
    const auto most = std::min(tokens.size(), static_cast<std::size_t>(sequence));
    const std::vector<std::int32_t> context(tokens.end() - static_cast<std::ptrdiff_t>(most),
                                            tokens.end());
    const std::vector<float> logits = next(context);
    if (logits.empty()) break;
    const std::size_t byte =
        chosen(logits, asked.temperature, uniform(asked.seed, static_cast<std::uint64_t>(i)));
    tokens.push_back(static_cast<std::int32_t>(byte));
    text += static_cast<char>(byte);
  }
  return text;
}

std::vector<float> logits_after(const std::vector<std::int32_t>& context, TokenModel& model,
                                Device& device, Stream& stream,
                                const std::function<void()>& forward) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(model.tokens().count()));
  std::copy(context.begin(), context.end(), tokens.begin());
  device.write(model.tokens().span, tokens.data());
  forward();
  const Tensor logits = model.next_logits(stream, static_cast<std::int64_t>(context.size()) - 1);
  stream.synchronize(kPassSeconds);
  std::vector<unsigned char> bytes(logits.bytes());
  device.read(logits.span, bytes.data());
  std::vector<float> values(static_cast<std::size_t>(logits.count()));
  convert(logits.dtype, bytes.data(), DType::fp32, values.data(), values.size());
  return values;
}

std::string generate_from(const std::string& path, TokenModelDescription model,
                          const Recipe& recipe, const std::string& weights, Device& device,
                          const Generation& asked) {
  const Checkpoint checkpoint(path);
  const std::string vocabulary = found(checkpoint, "vocabulary");
  if (vocabulary != std::to_string(kBytes)) {
    throw UsageError(fmt::format(
        "{}: its vocabulary is '{}': expected the checkpoint of a run on bytes, {} of them", path,
        vocabulary, kBytes));
  }
  require_same_sizes(path, checkpoint, model);
  if (model.vocabulary != kBytes) model = model.with_vocabulary(kBytes);
  const auto operations = make_operations(device);
  Optimizer optimizer;
  optimizer.kind = OptimizerKind::sgd;  // has no states, for which there would be no use
  const auto made = model.make(recipe, optimizer, {}, device, *operations);
  made->allocate();
  made->initialise(asked.seed);  // what is no parameter, and rows of padding
  load(checkpoint, model, weights, *made);
  const auto stream = device.make_stream();
  return generate(asked, model.sequence, [&](const std::vector<std::int32_t>& context) {
    return logits_after(context, *made, device, *stream, [&] { made->forward(*stream); });
  });
}

}  // namespace duet
