#include "core/place/auto/jobs.h"

#include <cmath>
#include <functional>
#include <numeric>

namespace emplace::autoplace {
namespace {

uint32_t root_of(std::vector<uint32_t>& root, uint32_t g) {
  while (root[g] != g) g = root[g] = root[root[g]];
  return g;
}

}  // namespace

Jobs::Jobs(const Problem& p, double below_us) : p_(p), below_us_(below_us), kinds_(p) {
  std::vector<uint32_t> root(p.num_groups), number(p.num_groups, ~uint32_t{0});
  std::iota(root.begin(), root.end(), 0);
  for (size_t k = 0; k < kinds_.size(); ++k)
    capacity_.push_back(kinds_.counts[k] * p.machine.units[kinds_.firsts[k]].memory);
  for (uint32_t t = 0; t < p.tensors.size() && below_us < kNever; ++t) unite_across(t, root);
  for (uint32_t g = 0; g < p.num_groups; ++g) {
    uint32_t& job = number[root_of(root, g)];
    if (job == ~uint32_t{0}) {
      job = static_cast<uint32_t>(size());
      us_.insert(us_.end(), kinds_.size(), 0);
      memory_.insert(memory_.end(), kinds_.size(), 0);
    }
    for (size_t k = 0; k < kinds_.size(); ++k) {
      const uint16_t d = kinds_.firsts[k];
      const int lanes = p.machine.units[d].lanes;
      double& us = us_[job * kinds_.size() + k];
      us = p.can_be(g, d) ? us + (lanes > 0 ? p.group_us_on(g, d) / lanes : 0) : kNever;
      if (capacity_[k] > 0) memory_[job * kinds_.size() + k] += p.group_memory(g, d);
    }
  }
  for (double& us : us_) {
    if (us > below_us) us = kNever;
  }
}

// The least that an engine, or a step, is busy with a tensor that leaves its device.
double Jobs::crossing_us(uint32_t tensor) const {
  const Machine& m = p_.machine;
  double least = kNever;
  for (uint16_t from = 0; from < p_.devices(); ++from) {
    for (uint16_t to = 0; to < p_.devices(); ++to) {
      if (from == to) continue;
      const bool direct = m.line(from, to).direct;
      if (p_.goal == Goal::kThroughput && !m.units[from].gpu && !m.units[to].gpu) return 0;  // nobody is in the way
      const double us = direct ? p_.copy_us(tensor, from, to)
                               : std::max(p_.copy_us(tensor, from, m.host), p_.copy_us(tensor, m.host, to));
      least = std::min(least, us);
    }
  }
  return least;
}

void Jobs::unite_across(uint32_t tensor, std::vector<uint32_t>& root) const {
  const TensorFact& fact = p_.tensors[tensor];
  if (fact.host_on_gpu || p_.readers.of(tensor).empty() || crossing_us(tensor) <= below_us_) return;
  for (const Use& use : p_.readers.of(tensor)) {
    if (use.host_on_gpu) continue;
    const uint32_t a = root_of(root, p_.group[fact.node]), b = root_of(root, p_.group[use.node]);
    root[std::max(a, b)] = std::min(a, b);
  }
}

double Jobs::least_us(size_t job) const {
  double least = kNever;
  for (size_t k = 0; k < kinds_.size(); ++k) least = std::min(least, us(job, k));
  return least;
}

double Jobs::largest_us() const {
  double most = 0;
  for (size_t job = 0; job < size(); ++job) most = std::max(most, least_us(job));
  return std::min(most, below_us_);
}

double Jobs::fractional_us(Budget& budget) const {
  constexpr int kRounds = 300, kPricedRounds = 40, kCheapest = -6, kDearest = 6;
  double most = split_us(0, kRounds, budget), bytes = 0;
  for (const double c : capacity_) bytes += c;
  if (bytes <= 0 || most <= 0) return most;
  for (int i = kCheapest; i <= kDearest; ++i)
    most = std::max(most, split_us(std::exp2(i) * most / bytes, kPricedRounds, budget));
  return most;
}

// What all devices have to do by weights, and memory by its price: no more than the busiest has to do and all memory.
double Jobs::split_us(double us_per_byte, int rounds, Budget& budget) const {
  const size_t n = kinds_.size();
  std::vector<double> weight(n), work(n);
  double all = 0, memory_us = 0, most = 0;
  for (size_t k = 0; k < n; ++k) {
    all += weight[k] = p_.machine.units[kinds_.firsts[k]].lanes > 0 ? kinds_.counts[k] : 0;
    memory_us += us_per_byte * capacity_[k];
  }
  if (all <= 0) return 0;
  for (double& w : weight) w /= all;  // of a whole kind
  for (int round = 0; round < rounds && !budget.look(); ++round) {
    double sum = -memory_us, total = 0;
    std::fill(work.begin(), work.end(), 0);
    for (size_t job = 0; job < size(); ++job) {
      double least = kNever, own = 0;
      size_t best = 0;
      for (size_t k = 0; k < n; ++k) {
        if (us(job, k) == kNever) continue;
        const double share = us(job, k) / kinds_.counts[k];
        const double weighed = weight[k] * share + us_per_byte * memory_[job * n + k];
        if (weighed < least) least = weighed, own = share, best = k;
      }
      sum += least, work[best] += own;
    }
    most = std::max(most, sum);
    const double top = *std::max_element(work.begin(), work.end());
    if (top <= 0 || sum == kNever) break;
    const double pace = 1.0 / (1 + round * 0.1);
    for (size_t k = 0; k < n; ++k) total += weight[k] *= std::exp(pace * (work[k] / top - 1));
    for (double& w : weight) w /= total;
  }
  return std::min(most, below_us_);
}

double Jobs::packed_us() const {
  double most = 0;
  std::vector<double> us_of;
  // Of each kind the jobs that can be nowhere else; then all, each as if it took the least everywhere.
  for (size_t k = 0; k < kinds_.size(); ++k) {
    us_of.clear();
    for (size_t job = 0; job < size(); ++job) {
      bool elsewhere = false;
      for (size_t other = 0; other < kinds_.size(); ++other) elsewhere |= other != k && us(job, other) < kNever;
      if (!elsewhere && us(job, k) < kNever) us_of.push_back(us(job, k));
    }
    most = std::max(most, packed_us(us_of, static_cast<size_t>(kinds_.counts[k])));
  }
  us_of.clear();
  for (size_t job = 0; job < size(); ++job) us_of.push_back(std::min(least_us(job), below_us_));
  return std::min(std::max(most, packed_us(us_of, p_.devices())), below_us_);
}

// Of c * devices + 1 jobs some device has c + 1, which are at least the shortest.
double Jobs::packed_us(std::vector<double>& us_of, size_t devices) const {
  std::sort(us_of.begin(), us_of.end(), std::greater<>());
  double most = 0;
  std::vector<double> sums(1, 0);
  for (const double us : us_of) sums.push_back(sums.back() + us);
  for (size_t c = 0; c * devices + 1 <= us_of.size(); ++c) {
    const size_t last = c * devices + 1;
    most = std::max(most, sums[last] - sums[last - (c + 1)]);
  }
  return most;
}

}  // namespace emplace::autoplace
