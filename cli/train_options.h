/// The flags that only `emplace train` takes.
#pragma once

#include "cli/option_set.h"
#include "core/training.h"

namespace emplace {

void declare_train_options(OptionSet& set, TrainingOptions& train);

}  // namespace emplace
