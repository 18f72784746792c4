/// How to train a MetaGraph or SavedModel: its loss, metrics and train op, read from signatures and collections.
#pragma once

#include "core/pipeline_options.h"
#include "core/signature_request.h"
#include "core/train/data_request.h"
#include "core/train/train_options.h"

namespace emplace {

/// Of a signature: its output `loss` is the loss, the others are metrics, computing them is the update, and its inputs
/// are what data files feed; `flags` may name tensors by its keys, and name the graph's afterwards. Of a MetaGraph, the
/// collections `train_op` and `losses` of one. REQUIRES: the file was read; `flags` come after this.
void train_model(const GraphModel& model, const GraphFile& file, const RunOptions& run, TrainFlags& flags,
                 TrainRequest& train, DataRequest& data);

/// Where neither the file's `data` nor a signature says what data files feed: all placeholders that no --feed has, by
/// their names. REQUIRES: `file` has types and shapes; `flags` come after this.
void feed_placeholders_by_name(const GraphFile& file, const RunOptions& run, const TrainFlags& flags,
                               DataRequest& data);

/// For an optimizer: where loss and metrics are outputs of a call that updates variables of a floating-point type which
/// may be trained, they become what the call computes, without its own update. `file` is lowered from `loaded`.
void leave_own_update_out(const GraphFile& loaded, const GraphFile& file, TrainRequest& train);

}  // namespace emplace
