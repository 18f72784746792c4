/// Every document that emplace writes says which version of its form it has: `schema_version`. Written and checked here
/// only. A version is raised when a reader of the old form would misread the new one.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/json_writer.h"
#include "core/base/status.h"

namespace emplace {

enum class Document : uint8_t {
  kRun,              // run --format json
  kRunRecords,       // run --format jsonl: in the record "begin"
  kTraining,         // train --format json
  kTrainingRecords,  // train --format jsonl
  kPlacement,        // place --format json; --placement-in reads it
  kSavedPlacement,   // --placement-out; --placement-in reads it
  kExplanation,      // explain --format json
  kCheck,            // check --format json
  kDevices,          // devices --format json; --devices @FILE reads it
  kDeviceName,       // devices --parse NAME --format json
  kOps,              // ops --format json
  kOp,               // ops OP --format json
  kMissingOps,       // ops --missing --format json
  kMemory,           // --memory-report=json
  kStepReport,       // --step-report=json
  kTrace,            // --trace
  kCheckpoint,       // step-N.json; --restore reads it
  kDiff,             // diff --format json
  kCompare,          // compare --format json
  kCopies,           // copies --format json
  kBench,            // bench --format json, -o; --baseline reads it
  kCosts,            // --save-costs; --costs reads it
  kReduction,        // reduce --format json
  kError,            // of a command with --format json or jsonl that fails before it has another
};
inline constexpr int kDocumentCount = static_cast<int>(Document::kError) + 1;

/// The version that is written.
int schema_version(Document document);

/// The member "schema_version".
JsonWriter& write_schema(JsonWriter& json, Document document);

/// Of a document that was read; `found`: the JSON text of its "schema_version". InvalidArgument: a version that is not
/// read (a placement of version 1 is: its readers want what both have), or none at all, with both numbers.
Status check_schema(Document document, std::string_view found);

}  // namespace emplace
