#include "core/place/auto/loads.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace emplace::autoplace {

Loads::Loads(const Problem& problem, const Assignment& at) : p_(problem), at_(at), loads_(problem.devices()) {
  for (uint32_t g = 0; g < p_.num_groups; ++g) loads_[at_[g]].compute_us += p_.group_us_on(g, at_[g]);
  for (uint32_t t = 0; t < p_.tensors.size(); ++t) count(t, 1);
}

void Loads::move(uint32_t group, uint16_t device) {
  const uint16_t before = at_[group];
  if (before == device) return;
  for (uint32_t t : p_.touching.of(group)) count(t, -1);
  at_[group] = device;
  for (uint32_t t : p_.touching.of(group)) count(t, 1);
  loads_[before].compute_us -= p_.group_us_on(group, before);
  loads_[device].compute_us += p_.group_us_on(group, device);
}

void Loads::count(uint32_t tensor, int sign) {
  const uint16_t maker = at_[p_.group[p_.tensors[tensor].node]], from = p_.made_in(tensor, maker);
  uint64_t wanted = 0;
  for (const Use& use : p_.readers.of(tensor))
    wanted |= uint64_t{1} << p_.machine.memory_of(at_[p_.group[use.node]], use.host_on_gpu);
  wanted &= ~(uint64_t{1} << from);
  if (wanted == 0) return;
  loads_[maker].compute_us += sign * p_.tensors[tensor].split_us;
  add_way(tensor, from, wanted, sign);
}

void Loads::add_way(uint32_t tensor, uint16_t from, uint64_t wanted, int sign) {
  const Machine& m = p_.machine;
  const auto add = [&](uint16_t a, uint16_t b) {
    const double us = sign * p_.copy_us(tensor, a, b);
    if (m.units[a].gpu) {
      loads_[a].out_us += us;
    } else if (m.units[b].gpu) {
      loads_[b].in_us += us;
    }
  };
  bool by_host = wanted >> m.host & 1;
  for (uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
    const auto to = static_cast<uint16_t>(std::countr_zero(rest));
    if (to == m.host) continue;
    const bool direct = m.line(from, to).direct;
    by_host = by_host || !direct;
    add(direct ? from : m.host, to);
  }
  if (by_host) add(from, m.host);
}

double Loads::busiest(uint16_t device) const {
  const DeviceLoad& load = loads_[device];
  const Machine::Unit& unit = p_.machine.units[device];
  const double compute = unit.lanes > 0 ? load.compute_us / unit.lanes : 0;
  return unit.copy_overlap ? std::max({compute, load.in_us, load.out_us}) : compute + load.in_us + load.out_us;
}

double Loads::value() const {
  double most = 0, all = 0;
  for (uint16_t d = 0; d < loads_.size(); ++d) {
    most = std::max(most, busiest(d));
    all += loads_[d].compute_us + loads_[d].in_us + loads_[d].out_us;
  }
  return p_.machine.threads > 0 ? std::max(most, all / p_.machine.threads) : most;
}

double Loads::energy() const {
  const double most = value();
  if (most <= 0) return 0;
  double powers = 0;
  for (uint16_t d = 0; d < loads_.size(); ++d) {
    const double share = busiest(d) / most, square = share * share, fourth = square * square;
    powers += fourth * fourth;
  }
  return most * (1 + 0.02 * powers / static_cast<double>(loads_.size()));
}

}  // namespace emplace::autoplace
