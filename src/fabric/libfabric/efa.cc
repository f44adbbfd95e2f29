// Not run on EFA: written by fi_efa(7) of libfabric 2.1.
#include "fabric/libfabric/efa.h"

#if __has_include(<rdma/fi_ext_efa.h>)

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_ext_efa.h>

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace duet::libfabric {
namespace {

bool is_efa(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name).substr(0, 3) == "efa";
}

}  // namespace

std::string emulated_by_efa(const fi_info& info, fid_ep* endpoint) {
  if (!is_efa(info)) return "";
  constexpr std::pair<int, const char*> kOptions[] = {{FI_OPT_EFA_EMULATED_WRITE, "writes"},
                                                      {FI_OPT_EFA_EMULATED_READ, "reads"}};
  std::vector<std::string> emulated;
  for (const auto& [option, word] : kOptions) {
    bool answer = false;
    std::size_t bytes = sizeof answer;
    const int result = fi_getopt(&endpoint->fid, FI_OPT_ENDPOINT, option, &answer, &bytes);
    if (result == 0 && answer) emulated.emplace_back(word);
  }
  if (emulated.empty()) return "";
  return fmt::format("efa emulates {} by messages here", fmt::join(emulated, " and "));
}

std::string interconnects_of_efa(const fi_info& info, fid_domain* domain, fid_mr* memory) {
  if (!is_efa(info)) return "";
  fi_efa_ops_domain* calls = nullptr;
  if (fi_open_ops(&domain->fid, FI_EFA_DOMAIN_OPS, 0, reinterpret_cast<void**>(&calls), nullptr) !=
      0)
    return "";
  fi_efa_mr_attr answer{};
  if (calls->query_mr(memory, &answer) != 0) return "";
  const std::tuple<int, int, const char*> known[] = {
      {FI_EFA_MR_ATTR_RECV_IC_ID, answer.recv_ic_id, "receives"},
      {FI_EFA_MR_ATTR_RDMA_READ_IC_ID, answer.rdma_read_ic_id, "reads"},
      {FI_EFA_MR_ATTR_RDMA_RECV_IC_ID, answer.rdma_recv_ic_id, "peers' writes"}};
  std::vector<std::string> words;
  for (const auto& [valid, interconnect, word] : known) {
    if ((answer.ic_id_validity & valid) != 0) {
      words.push_back(fmt::format("{} by interconnect {}", word, interconnect));
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace duet::libfabric

#else

namespace duet::libfabric {

std::string emulated_by_efa(const fi_info&, fid_ep*) { return ""; }
std::string interconnects_of_efa(const fi_info&, fid_domain*, fid_mr*) { return ""; }

}  // namespace duet::libfabric

#endif
