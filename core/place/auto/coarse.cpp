#include "core/place/auto/coarse.h"

#include <algorithm>
#include <numeric>

#include "core/place/auto/orders.h"

namespace emplace::autoplace {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
/// Of a device's memory, what groups that become one may take.
constexpr double kMostMemory = 1.0 / 8;

class Coarsener {
 public:
  Coarsener(const Problem& p, uint32_t most_nodes, const Assignment* at)
      : p_(p), most_nodes_(most_nodes), at_(at), root_(p.num_groups), memory_(p.memory), cluster_(p.num_nodes, kNone) {
    std::iota(root_.begin(), root_.end(), 0);
  }

  Coarse make() {
    const std::vector<uint32_t> order = nodes_depth_first(p_);
    take_in_sources(order);
    find_units();
    find_clusters(order);
    number_groups();
    add_nodes();
    add_edges();
    made_.problem.finish();
    return std::move(made_);
  }

 private:
  uint32_t root_of(uint32_t g) {
    while (root_[g] != g) g = root_[g] = root_[root_[g]];
    return g;
  }

  bool unite(uint32_t a, uint32_t b) {
    a = root_of(a), b = root_of(b);
    if (a == b) return true;
    if (p_.candidates[a] != p_.candidates[b] || (at_ && (*at_)[a] != (*at_)[b])) return false;
    const size_t n = p_.devices();
    for (uint16_t d = 0; d < n; ++d) {
      const double limit = p_.machine.units[d].memory;
      if (limit > 0 && memory_[a * n + d] + memory_[b * n + d] > limit * kMostMemory) return false;
    }
    for (uint16_t d = 0; d < n; ++d) memory_[a * n + d] += memory_[b * n + d];
    root_[b] = a;
    return true;
  }

  // The one that reads what a node makes; kNone: nobody, or several.
  uint32_t only_reader(uint32_t node) const {
    uint32_t reader = kNone;
    for (uint32_t t : p_.outputs.of(node)) {
      for (const Use& use : p_.readers.of(t)) {
        if (reader != kNone && reader != use.node) return kNone;
        reader = use.node;
      }
    }
    return reader;
  }

  // What waits for nothing and has one reader belongs to it: a chain of products goes on, though each has weights.
  void take_in_sources(const std::vector<uint32_t>& order) {
    taken_by_.assign(p_.num_nodes, kNone);
    for (const uint32_t n : order) {
      const auto inputs = p_.inputs.of(n);
      const bool waits = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const Use& use) { return taken_by_[p_.tensors[use.tensor].node] != n; });
      const uint32_t reader = waits ? kNone : only_reader(n);
      if (reader != kNone && unite(p_.group[n], p_.group[reader])) taken_by_[n] = reader;
    }
  }

  // By node, the largest scope around it that is small enough to become one.
  void find_units() {
    unit_.assign(p_.num_nodes, kNone);
    if (p_.scope.empty()) return;
    std::vector<uint32_t> nodes(p_.around.size());
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      for (uint32_t s = p_.scope[n];; s = p_.around[s]) {
        ++nodes[s];
        if (p_.around[s] == s) break;
      }
    }
    for (uint32_t n = 0; n < p_.num_nodes; ++n) {
      for (uint32_t s = p_.scope[n]; nodes[s] <= most_nodes_; s = p_.around[s]) {
        unit_[n] = s;
        if (p_.around[s] == s) break;
      }
    }
  }

  // Does `next` wait for `last` alone, and nobody else for it?
  bool is_chain(uint32_t last, uint32_t next) const {
    const auto inputs = p_.inputs.of(next);
    const bool waits_for_last = std::all_of(inputs.begin(), inputs.end(), [&](const Use& use) {
      const uint32_t source = p_.tensors[use.tensor].node;
      return source == last || taken_by_[source] == next;
    });
    return waits_for_last && only_reader(last) == next;
  }

  // Runs of a linear order: whatever is in one, no way leads out of it and back.
  void find_clusters(const std::vector<uint32_t>& order) {
    uint32_t last = kNone, size = 0;
    for (const uint32_t n : order) {
      if (taken_by_[n] != kNone) continue;
      const bool together = last != kNone && size < most_nodes_ &&
                            ((unit_[n] != kNone && unit_[n] == unit_[last]) || is_chain(last, n)) &&
                            unite(p_.group[last], p_.group[n]);
      if (!together) firsts_.push_back(n), size = 0;
      cluster_[n] = static_cast<uint32_t>(firsts_.size() - 1);
      last = n, ++size;
    }
    for (size_t i = order.size(); i-- > 0;) {
      if (const uint32_t n = order[i]; taken_by_[n] != kNone) cluster_[n] = cluster_[taken_by_[n]];
    }
  }

  void number_groups() {
    Problem& c = made_.problem;
    c.machine = p_.machine, c.goal = p_.goal, c.around = p_.around;
    const size_t n = p_.devices();
    std::vector<uint32_t> number(p_.num_groups, kNone);
    for (uint32_t g = 0; g < p_.num_groups; ++g) {
      const uint32_t root = root_of(g);
      if (number[root] == kNone) {
        number[root] = c.num_groups++;
        c.candidates.push_back(p_.candidates[root]), c.original.push_back(p_.original[g]);
        c.memory.insert(c.memory.end(), n, 0);
      }
      made_.group_of.push_back(number[root]);
      for (uint16_t d = 0; d < n; ++d) c.memory[number[root] * n + d] += p_.group_memory(g, d);
    }
  }

  void add_nodes() {
    Problem& c = made_.problem;
    const size_t n = p_.devices();
    c.num_nodes = static_cast<uint32_t>(firsts_.size());
    c.us.assign(c.num_nodes * n, 0);
    for (uint32_t node = 0; node < p_.num_nodes; ++node) {
      for (uint16_t d = 0; d < n; ++d) c.us[cluster_[node] * n + d] += p_.node_us(node, d);
    }
    for (const uint32_t first : firsts_) {
      c.group.push_back(made_.group_of[p_.group[first]]);
      if (!p_.scope.empty()) c.scope.push_back(unit_[first] != kNone ? unit_[first] : p_.scope[first]);
    }
  }

  void add_edges() {
    Problem& c = made_.problem;
    for (uint32_t t = 0; t < p_.tensors.size(); ++t) {
      const TensorFact& fact = p_.tensors[t];
      const uint32_t from = cluster_[fact.node], number = static_cast<uint32_t>(c.tensors.size());
      bool leaves = false;
      for (const Use& use : p_.readers.of(t)) {
        const uint32_t to = cluster_[use.node];
        if (to == from) continue;
        c.uses.push_back({to, number, use.host_on_gpu});
        leaves = true;
      }
      if (leaves) c.tensors.push_back({from, fact.bytes, fact.host_on_gpu, fact.split_us});
    }
  }

  const Problem& p_;
  const uint32_t most_nodes_;
  const Assignment* const at_;
  std::vector<uint32_t> root_;      // of groups that became one
  std::vector<double> memory_;      // of those, as Problem::memory
  std::vector<uint32_t> cluster_;   // by node: its number in the small problem
  std::vector<uint32_t> taken_by_;  // by node
  std::vector<uint32_t> unit_;      // by node
  std::vector<uint32_t> firsts_;    // by node of the small problem: its first node
  Coarse made_;
};

}  // namespace

Assignment Coarse::expanded(const Assignment& at) const {
  Assignment large(group_of.size());
  for (size_t g = 0; g < large.size(); ++g) large[g] = at[group_of[g]];
  return large;
}

Assignment Coarse::shrunk(const Assignment& at) const {
  Assignment small(problem.num_groups);
  for (size_t g = 0; g < at.size(); ++g) small[group_of[g]] = at[g];
  return small;
}

Coarse coarsened(const Problem& problem, uint32_t most_nodes, const Assignment* at) {
  return Coarsener(problem, most_nodes, at).make();
}

}  // namespace emplace::autoplace
