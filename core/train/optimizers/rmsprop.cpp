// Part of core/train/optimizers/optimizer_list.h: rmsprop: steps in units of the root of a running mean of the
// gradient's square.
#include "core/train/optimizers/row_update.h"

namespace emplace {
namespace {

Endpoint rms_prop_rows_step(RowUpdate& u) {
  const Endpoint g = u.gradient();
  const Endpoint decay = u.operand("decay");
  auto mix = [&](std::string_view slot, Endpoint now) {
    const Endpoint before = u.slot(slot);
    const Endpoint after = u.add(now, u.mul(u.sub(before, now), decay));
    u.set_slot(slot, after);
    return after;
  };
  Endpoint spread = u.add(mix("mean_square", u.op("Square", {g})), u.operand("epsilon"));
  if (u.has_slot("mean_gradient")) spread = u.sub(spread, u.op("Square", {mix("mean_gradient", g)}));
  const Endpoint step = u.mul(u.mul(u.op("Rsqrt", {spread}), u.operand("learning_rate")), g);
  const Endpoint moment = u.add(u.mul(u.slot("moment"), u.operand("momentum")), step);
  u.set_slot("moment", moment);
  return moment;
}

UpdateRule rmsprop_rule(const OptimizerArguments& arguments) {
  const bool centered = arguments.flag("centered");
  UpdateRule r;
  r.op = centered ? "ApplyCenteredRMSProp" : "ApplyRMSProp";
  r.slots = {{"mean_square", "RMSProp", "ones", 1}};
  if (centered) r.slots.push_back({"mean_gradient", "RMSProp", "zeros"});
  r.slots.push_back({"moment", "RMSProp", "zeros"});
  r.constants = {"decay", "momentum", "epsilon"};
  r.operands = {"variable", "mean_square", "moment", "learning_rate", "decay", "momentum", "epsilon", "gradient"};
  if (centered) r.operands.insert(r.operands.begin() + 1, "mean_gradient");
  r.rows_step = rms_prop_rows_step;
  return r;
}

}  // namespace

Optimizer rmsprop_optimizer() {
  return {.name = "rmsprop",
          .learning_rate = std::nullopt,
          .arguments = {{"decay", 0.9}, {"momentum", 0}, {"epsilon", 1e-10}, {"centered", 0, true}},
          .rule = rmsprop_rule};
}

}  // namespace emplace
