// core/place/auto/: the simulator by hand, loads against a count from scratch, and the search against every assignment.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/place/auto/coarse.h"
#include "core/place/auto/jobs.h"
#include "core/place/auto/list_schedule.h"
#include "core/place/auto/loads.h"
#include "core/place/auto/simulator.h"
#include "core/place/auto/solve.h"
#include "core/place/auto/work_bound.h"

namespace emplace::autoplace {
namespace {

/// A CPU and GPUs, every copy `latency` + bytes microseconds, none between GPUs.
Machine machine_of(size_t gpus, bool overlap, double memory = 0, double latency = 0) {
  Machine m;
  m.units.push_back({false, 1, true, 0});
  for (size_t i = 0; i < gpus; ++i) m.units.push_back({true, 1, overlap, memory});
  for (size_t a = 0; a <= gpus; ++a) {
    for (size_t b = 0; b <= gpus; ++b)
      m.lines.push_back({a == b ? 0 : latency, a == b ? 0.0 : 1.0, a == b || a == 0 || b == 0});
  }
  return m;
}

/// Each node a group of its own, with one output that `edges` lead from.
Problem problem_of(Machine machine, const std::vector<std::vector<double>>& us,
                   const std::vector<std::pair<uint32_t, uint32_t>>& edges, double bytes) {
  Problem p;
  p.machine = std::move(machine);
  p.num_nodes = p.num_groups = static_cast<uint32_t>(us.size());
  for (uint32_t n = 0; n < p.num_nodes; ++n) {
    p.group.push_back(n);
    p.us.insert(p.us.end(), us[n].begin(), us[n].end());
    p.tensors.push_back({n, bytes, false, 0});
  }
  for (const auto& [from, to] : edges) p.uses.push_back({to, from, false});
  p.memory.assign(p.num_groups * p.devices(), 1);
  p.candidates.assign(p.num_groups, (uint64_t{1} << p.devices()) - 1);
  p.original.assign(p.num_groups, 1);
  p.finish();
  return p;
}

Problem random_problem(Dice& dice) {
  const uint32_t groups = 2 + dice.below(7), nodes = groups + dice.below(6);
  Problem p;
  p.machine = machine_of(1 + dice.below(3), dice.below(2) == 0, dice.below(2) == 0 ? 0 : 2 + groups / 2, dice.below(3));
  if (dice.below(3) == 0) {
    for (Machine::Line& line : p.machine.lines) line.direct = true;
  }
  p.machine.units[0].lanes = static_cast<int>(dice.below(3));
  p.machine.threads = dice.below(2) == 0 ? 0 : 1 + static_cast<int>(dice.below(3));
  p.num_nodes = nodes, p.num_groups = groups;
  for (uint32_t n = 0; n < nodes; ++n) {
    p.group.push_back(n < groups ? n : dice.below(groups));
    for (size_t d = 0; d < p.devices(); ++d) p.us.push_back(1 + dice.below(d == 0 ? 60 : 20));
    p.tensors.push_back({n, static_cast<double>(dice.below(10)), dice.below(5) == 0,
                         static_cast<double>(dice.below(3) == 0 ? dice.below(9) : 0)});
    for (uint32_t before = 0; before < n; ++before) {
      if (dice.below(nodes) < 2) p.uses.push_back({n, before, dice.below(5) == 0});
    }
  }
  for (size_t i = 0; i < groups * p.devices(); ++i) p.memory.push_back(i % p.devices() == 0 ? 0 : 1 + dice.below(2));
  for (uint32_t g = 0; g < groups; ++g) {
    const uint64_t all = (uint64_t{1} << p.devices()) - 1;
    p.candidates.push_back(dice.below(5) == 0 ? all & ~uint64_t{2} : all);
    p.original.push_back(0);
  }
  p.goal = dice.below(2) == 0 ? Goal::kLatency : Goal::kThroughput;
  p.finish();
  return p;
}

double best_of_all(const Problem& p) {
  Assignment at(p.num_groups, 0);
  double best = kNever;
  for (;;) {
    bool legal = p.fits(at);
    for (uint32_t g = 0; g < p.num_groups; ++g) legal = legal && p.can_be(g, at[g]);
    if (legal) best = std::min(best, value_of(p, at));
    uint32_t g = 0;
    while (g < p.num_groups && ++at[g] == p.devices()) at[g++] = 0;
    if (g == p.num_groups) return best;
  }
}

}  // namespace

TEST_CASE("automatic placement: on one thread devices do not overlap") {
  // Two nodes of 10 us on two GPUs, and copies of 4 us to the CPU's node of 1 us.
  Machine machine = machine_of(2, true);
  const std::vector<std::vector<double>> us = {{50, 10, 10}, {50, 10, 10}, {1, 50, 50}};
  const Problem together = problem_of(machine, us, {{0, 2}, {1, 2}}, 4);
  CHECK(Simulator(together).run({1, 2, 0}) == 15);
  machine.threads = 1;
  const Problem one = problem_of(machine, us, {{0, 2}, {1, 2}}, 4);
  CHECK(Simulator(one).run({1, 2, 0}) == 29);
  const Solution solution = solve(one, {});
  CHECK(solution.found.us == 29);
  CHECK(solution.bound.us <= 29);
}

TEST_CASE("automatic placement: devices that share threads do no more at once than those", "[auto]") {
  // Four nodes of 10 us on four devices, then one that waits for all; copies take nothing.
  Machine machine = machine_of(4, true);
  for (Machine::Line& line : machine.lines) line = {0, 0, true};
  const std::vector<std::vector<double>> us(5, std::vector<double>(5, 10));
  const std::vector<std::pair<uint32_t, uint32_t>> edges{{0, 4}, {1, 4}, {2, 4}, {3, 4}};
  const Assignment apart{1, 2, 3, 4, 0};
  for (const auto& [threads, wanted] : {std::pair(0, 20.0), {1, 50.0}, {2, 30.0}, {3, 30.0}, {4, 20.0}}) {
    machine.threads = threads;
    const Problem p = problem_of(machine, us, edges, 0);
    CHECK(Simulator(p).run(apart) == wanted);
    CHECK(Loads(p, apart).value() == (threads == 0 ? 10 : std::max(10.0, 50.0 / threads)));
    const Solution best = solve(p, {});
    CHECK(best.found.us == wanted);
    CHECK(best.bound.us <= wanted);
  }
}

TEST_CASE("a copy beside compute hides, a copy on the lane does not", "[auto]") {
  // 0 -> 1 on the GPU, 0 -> 2 on the CPU: the copy of 5 runs beside node 1 only where it has an engine of its own.
  const std::vector<std::vector<double>> us{{100, 10}, {100, 10}, {7, 100}};
  const Problem beside = problem_of(machine_of(1, true), us, {{0, 1}, {0, 2}}, 5);
  const Problem on_lane = problem_of(machine_of(1, false), us, {{0, 1}, {0, 2}}, 5);
  CHECK(Simulator(beside).run({1, 1, 0}) == 22);   // 10 + 5 + 7
  CHECK(Simulator(on_lane).run({1, 1, 0}) == 25);  // 10 + 5, then node 1
}

TEST_CASE("a tensor goes out once, and once to each device", "[auto]") {
  const Problem p =
      problem_of(machine_of(2, true), {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {{0, 1}, {0, 2}, {0, 3}}, 8);
  std::vector<Slot> rows;
  CHECK(Simulator(p).schedule({1, 2, 2, 0}, rows) == 1 + 8 + 8 + 1 + 1);
  CHECK(std::count_if(rows.begin(), rows.end(), [](const Slot& r) { return r.copy; }) == 2);
  CHECK(Loads(p, {1, 2, 2, 0}).of(1).out_us == 8);
  CHECK(Loads(p, {1, 2, 2, 0}).of(2).in_us == 8);
}

TEST_CASE("host results of a GPU kernel are free to read for the CPU, and cost a copy on the GPU", "[auto]") {
  Problem p = problem_of(machine_of(1, true), {{1, 1}, {1, 1}, {1, 1}}, {{0, 1}, {0, 2}}, 6);
  p.tensors[0].host_on_gpu = true;
  p.finish();
  CHECK(Simulator(p).run({1, 0, 0}) == 3);          // one lane
  CHECK(Simulator(p).run({1, 1, 0}) == 1 + 6 + 1);  // the copy inside
}

TEST_CASE("splitting what runs as one takes longer, wherever it is split", "[auto]") {
  Problem p = problem_of(machine_of(1, true), {{3, 3}, {3, 3}, {3, 3}}, {{0, 1}, {1, 2}}, 2);
  p.tensors[0].split_us = p.tensors[1].split_us = 7;
  p.finish();
  CHECK(Simulator(p).run({0, 0, 0}) == 9);
  CHECK(Simulator(p).run({0, 0, 1}) == 3 + (3 + 7) + 2 + 3);
  CHECK(Simulator(p).run({0, 1, 0}) == (3 + 7) + 2 + (3 + 7) + 2 + 3);
  CHECK(Loads(p, {0, 0, 1}).of(0).compute_us == 3 + 3 + 7);
  Loads loads(p, {0, 0, 1});
  loads.move(2, 0);
  CHECK(loads.of(0).compute_us == 9);
}

TEST_CASE("loads that were moved are those of a count from scratch", "[auto]") {
  Dice dice(7);
  for (int i = 0; i < 200; ++i) {
    Problem p = random_problem(dice);
    Loads loads(p, p.original);
    for (int move = 0; move < 20; ++move) {
      loads.move(dice.below(p.num_groups), static_cast<uint16_t>(dice.below(static_cast<uint32_t>(p.devices()))));
      const Loads again(p, loads.at());
      for (uint16_t d = 0; d < p.devices(); ++d) REQUIRE(std::abs(loads.busiest(d) - again.busiest(d)) < 1e-9);
    }
  }
}

TEST_CASE("a schedule keeps to lanes, engines and inputs", "[auto]") {
  Dice dice(11);
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(dice);
    Assignment at(p.num_groups);
    for (uint16_t& d : at) d = static_cast<uint16_t>(dice.below(static_cast<uint32_t>(p.devices())));
    Simulator simulator(p);
    std::vector<Slot> rows;
    const double end = simulator.schedule(at, rows);
    REQUIRE(simulator.run(at) == end);
    REQUIRE(simulator.run(at, end / 2) >= end / 2);
    std::vector<double> ended(p.num_nodes);
    for (const Slot& r : rows) {
      if (!r.copy) ended[r.what] = r.end_us;
    }
    for (const Slot& r : rows) {
      if (r.copy) REQUIRE(r.start_us >= ended[p.tensors[r.what].node]);
      for (const Use& use : p.inputs.of(r.copy ? 0 : r.what)) {
        if (!r.copy) REQUIRE(r.start_us >= ended[p.tensors[use.tensor].node]);
      }
      const auto beside = std::count_if(rows.begin(), rows.end(), [&](const Slot& o) {
        return !o.copy && !r.copy && o.from == r.from && o.start_us <= r.start_us && r.start_us < o.end_us;
      });
      const int lanes = p.machine.units[r.from].lanes;
      REQUIRE((lanes == 0 || r.copy || beside <= lanes));
    }
  }
}

TEST_CASE("search and exact search find the best of all assignments, and no bound passes it", "[auto]") {
  Dice dice(2024);
  int searched = 0;
  constexpr int kProblems = 200;
  for (int i = 0; i < kProblems; ++i) {
    const Problem p = random_problem(dice);
    const double best = best_of_all(p);
    CAPTURE(i, best, p.goal == Goal::kLatency);
    Budget all(1, 0, nullptr);
    REQUIRE(lower_bound(p, all).us <= best);
    // What an assignment takes tells where a better one cannot have a node, never where the best has it.
    for (const double known : {best, best * 1.1, value_of(p, p.original)}) {
      if (known >= best) REQUIRE(lower_bound(p, all, known).us <= best);
    }
    SolveOptions options;
    options.evaluations = 2'000'000;
    REQUIRE(solve(p, options).best_us == best);
    options.exact = false, options.evaluations = 8000;
    const Solution found = solve(p, options);
    REQUIRE(found.best_us >= best);
    if (best == kNever) continue;
    REQUIRE(p.fits(found.found.at));
    searched += found.best_us > best * (1 + 1e-12) ? 1 : 0;
  }
  CHECK(searched * 100 <= kProblems);
}

TEST_CASE("what a join waits for bounds it by its work, stage by stage", "[auto]") {
  // 0, then 1 to 4 beside each other on two GPUs, 5 that waits for them, 6 to 9, 10: 10 + 2 * (20 + 10). The longest
  // way takes 50, and all the work is 110 on two devices.
  std::vector<std::vector<double>> us(11, {1000, 10, 10});
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t stage : {0U, 5U}) {
    for (uint32_t n = stage + 1; n < stage + 5; ++n) edges.insert(edges.end(), {{stage, n}, {n, stage + 5}});
  }
  Machine machine = machine_of(2, true);
  for (Machine::Line& line : machine.lines) line = {0, 0, true};
  const Problem p = problem_of(machine, us, edges, 0);
  Budget all(1, 0, nullptr);
  CHECK(critical_path_us(p) == 50);
  // A CPU that could take part is left out by what is known to be possible.
  CHECK(work_bound_us(p, 100, all) == Approx(70));
  CHECK(work_bound_us(p, kNever, all) <= 70);
  CHECK(solve(p, {}).found.us == 70);
}

TEST_CASE("of more jobs than devices some device has several, and what is long to copy is one job", "[auto]") {
  // Seven nodes of 10 us on three GPUs; the CPU is far too slow for any.
  Machine machine = machine_of(3, true);
  for (Machine::Line& line : machine.lines) line.direct = true;
  std::vector<std::vector<double>> us(7, {1000, 10, 10, 10});
  Problem apart = problem_of(machine, us, {{0, 1}, {1, 2}}, 1);
  CHECK(Jobs(apart, 40).packed_us() == 30);
  CHECK(Jobs(apart, kNever).packed_us() == 20);  // the CPU counts as a fourth that is as fast
  // The first three go together, if no copy may take 50 us.
  Problem together = problem_of(machine, us, {{0, 1}, {1, 2}}, 50);
  CHECK(Jobs(together, 40).largest_us() == 30);
  CHECK(Jobs(together, 60).largest_us() == 10);
  for (Problem* p : {&apart, &together}) {
    p->goal = Goal::kThroughput;
    const Solution found = solve(*p, {});
    CHECK(found.found.us == 30);
    CHECK(found.optimal);
  }
}

TEST_CASE("memory has its price: what does not fit the GPU is left to the CPU", "[auto]") {
  // Four nodes of a byte, a GPU of two: two stay on the CPU, 60 us.
  Problem p = problem_of(machine_of(1, true, 2), std::vector<std::vector<double>>(4, {30, 10}), {}, 0);
  p.goal = Goal::kThroughput;
  Budget all(1, 0, nullptr);
  const double bound = Jobs(p, kNever).fractional_us(all);
  CHECK(bound > 45);  // 30 by work alone
  CHECK(bound <= 60 * (1 + 1e-12));
  CHECK(solve(p, {}).found.us == 60);
}

TEST_CASE("a coarse problem has the memory and the legal places of the large one, and no way leads back", "[auto]") {
  Dice dice(77);
  for (int i = 0; i < 300; ++i) {
    Problem p = random_problem(dice);
    p.around = {0, 0, 0, 1};
    for (uint32_t n = 0; n < p.num_nodes; ++n) p.scope.push_back(dice.below(4));
    Assignment at(p.num_groups);
    for (uint32_t g = 0; g < p.num_groups; ++g) at[g] = p.can_be(g, 1) ? static_cast<uint16_t>(dice.below(2)) : 0;
    const Coarse coarse = coarsened(p, 1 + dice.below(6), dice.below(2) == 0 ? &at : nullptr);
    const Problem& c = coarse.problem;
    for (const Use& use : c.uses) REQUIRE(c.tensors[use.tensor].node < use.node);
    Assignment small(c.num_groups);
    for (uint16_t& d : small) d = static_cast<uint16_t>(dice.below(static_cast<uint32_t>(p.devices())));
    const Assignment large = coarse.expanded(small);
    for (uint16_t d = 0; d < p.devices(); ++d) {
      REQUIRE(c.memory_used(small, d) == p.memory_used(large, d));
      REQUIRE(Loads(c, small).of(d).in_us <= Loads(p, large).of(d).in_us);
    }
    for (uint32_t g = 0; g < p.num_groups; ++g) REQUIRE(c.candidates[coarse.group_of[g]] == p.candidates[g]);
    const Coarse as_it_is = coarsened(p, 6, &at);
    REQUIRE(as_it_is.expanded(as_it_is.shrunk(at)) == at);
  }
}

TEST_CASE("a small scope becomes one node, whatever its shape, and a large one does not", "[auto]") {
  // Two diamonds, one behind the other: no part of them is a chain.
  Problem p =
      problem_of(machine_of(2, true), std::vector<std::vector<double>>(9, {3, 2, 2}),
                 {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {0, 4}, {4, 5}, {4, 6}, {5, 7}, {6, 7}, {7, 8}, {4, 8}}, 1);
  const auto nodes_of = [&](uint32_t most_nodes) { return coarsened(p, most_nodes).problem.num_nodes; };
  const uint32_t without = nodes_of(4);
  CHECK(without > 4);
  p.around = {0, 0, 0};  // scopes 1 and 2 in the outermost
  p.scope = {1, 1, 1, 1, 2, 2, 2, 2, 0};
  CHECK(nodes_of(4) == 3);
  CHECK(nodes_of(3) == without);
}

TEST_CASE("a large graph is searched as chains and scopes", "[auto]") {
  // 16 branches of 100 nodes, four GPUs: which branch goes where is a choice that moves of single nodes do not find.
  constexpr uint32_t kBranches = 16, kLength = 100;
  Dice dice(3);
  std::vector<std::vector<double>> us{{1, 1, 1, 1, 1}};
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t b = 0; b < kBranches; ++b) {
    for (uint32_t i = 0; i < kLength; ++i) {
      const double gpu = 5 + dice.below(90);
      us.push_back({1e5, gpu, gpu, gpu, gpu});
      edges.emplace_back(i == 0 ? 0 : us.size() - 2, us.size() - 1);
    }
  }
  Machine machine = machine_of(4, true);
  for (Machine::Line& line : machine.lines) line.latency_us = 50;
  const Problem p = problem_of(machine, us, edges, 10);
  const Solution found = solve(p, {});
  double heft = kNever;
  for (const Start& s : found.starts) {
    if (s.kind == Start::Kind::kHeft) heft = s.found.us;
  }
  CHECK(std::any_of(found.starts.begin(), found.starts.end(),
                    [](const Start& s) { return s.kind == Start::Kind::kCoarse; }));
  CHECK(found.found.us < heft);
  CHECK(found.found.us < found.bound.us * 1.03);
}

TEST_CASE("a search over a large graph ends at the first look that says so", "[auto]") {
  static int looks_left = 0;
  constexpr uint32_t kNodes = 600;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t n = 1; n < kNodes; ++n) edges.emplace_back(n - 1, n);
  const Problem p = problem_of(machine_of(2, true), std::vector<std::vector<double>>(kNodes, {3, 2, 2}), edges, 1);
  SolveOptions options;
  options.stop = [] { return --looks_left < 0; };
  looks_left = 1'000'000;
  const int64_t all = solve(p, options).evaluations;
  looks_left = 1000;
  const Solution cut = solve(p, options);
  CHECK(cut.cut);
  CHECK(cut.evaluations <= 1000);
  CHECK(cut.evaluations < all);
}

TEST_CASE("a list schedule that is told to end leaves the rest on the CPU", "[auto]") {
  constexpr uint32_t kNodes = 600;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t n = 1; n < kNodes; ++n) edges.emplace_back(n - 1, n);
  const Problem p = problem_of(machine_of(2, true), std::vector<std::vector<double>>(kNodes, {3, 2, 2}), edges, 0);
  static int looks_left = 0;
  const auto on_cpu = [&](int looks) {
    looks_left = looks;
    Budget budget(1, 0, [] { return --looks_left < 0; });
    const Assignment at = list_schedule(p, ListRule::kHeft, budget);
    return std::count(at.begin(), at.end(), 0);
  };
  CHECK(on_cpu(1000) == 0);
  CHECK(on_cpu(1) == kNodes - 256);
}

TEST_CASE("one seed gives one answer", "[auto]") {
  Dice dice(5);
  const Problem p = random_problem(dice);
  SolveOptions options;
  options.exact = false;
  CHECK(solve(p, options).found.at == solve(p, options).found.at);
}

}  // namespace emplace::autoplace
