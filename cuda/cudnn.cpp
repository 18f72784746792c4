#include "cuda/cudnn.h"

#include <array>

#include "core/base/cat.h"
#include "cuda/library.h"

namespace emplace::cuda::cudnn {
namespace {

constexpr int64_t kAlignment = 16;  // of every tensor

Status load(Functions& f) {
  ASSIGN_OR_RETURN(const Library library, Library::open(kLibrary));
  RETURN_IF_ERROR(library.find("cudnnCreate", f.create));
  RETURN_IF_ERROR(library.find("cudnnSetStream", f.set_stream));
  RETURN_IF_ERROR(library.find("cudnnGetErrorString", f.error_text));
  RETURN_IF_ERROR(library.find("cudnnGetLastErrorString", f.last_error));
  RETURN_IF_ERROR(library.find("cudnnBackendCreateDescriptor", f.create_descriptor));
  RETURN_IF_ERROR(library.find("cudnnBackendDestroyDescriptor", f.destroy_descriptor));
  RETURN_IF_ERROR(library.find("cudnnBackendFinalize", f.finalize));
  RETURN_IF_ERROR(library.find("cudnnBackendSetAttribute", f.set));
  RETURN_IF_ERROR(library.find("cudnnBackendGetAttribute", f.get));
  return library.find("cudnnBackendExecute", f.execute);
}

Data data_type(DType type) {
  switch (type) {
    case DType::kDouble:
      return Data::kDouble;
    case DType::kHalf:
      return Data::kHalf;
    case DType::kBFloat16:
      return Data::kBFloat16;
    default:
      return Data::kFloat;
  }
}

using Sizes = std::array<int64_t, 4>;  // n, c, h, w

/// Dense; in memory the channels come last, or second.
Result<Descriptor> tensor(const Functions& f, int64_t id, DType type, const Sizes& dims, bool channels_last) {
  const Sizes order = channels_last ? Sizes{1, 3, 2, 0} : Sizes{3, 2, 1, 0};  // the fastest first
  Sizes strides{};
  int64_t stride = 1;
  for (int64_t d : order) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= dims[static_cast<size_t>(d)];
  }
  ASSIGN_OR_RETURN(Descriptor made, Descriptor::make(f, Kind::kTensor));
  RETURN_IF_ERROR(made.set(Attribute::kTensorId, Type::kInt64, id));
  RETURN_IF_ERROR(made.set(Attribute::kTensorType, Type::kData, data_type(type)));
  RETURN_IF_ERROR(made.set(Attribute::kTensorAlignment, Type::kInt64, kAlignment));
  RETURN_IF_ERROR(made.set(Attribute::kTensorDims, Type::kInt64, 4, dims.data()));
  RETURN_IF_ERROR(made.set(Attribute::kTensorStrides, Type::kInt64, 4, strides.data()));
  RETURN_IF_ERROR(made.finalize());
  return made;
}

Result<Descriptor> convolution(const Functions& f, const ConvProblem& problem) {
  const ConvShape& s = problem.shape;
  const int64_t dims = 2, strides[] = {s.stride_h, s.stride_w}, dilations[] = {s.dilation_h, s.dilation_w};
  const int64_t before[] = {s.pad_top, s.pad_left}, after[] = {problem.pad_bottom, problem.pad_right};
  // Sums are made in float, those of doubles in double.
  const Data compute = problem.type == DType::kDouble ? Data::kDouble : Data::kFloat;
  ASSIGN_OR_RETURN(Descriptor made, Descriptor::make(f, Kind::kConvolution));
  RETURN_IF_ERROR(made.set(Attribute::kSpatialDims, Type::kInt64, dims));
  RETURN_IF_ERROR(made.set(Attribute::kConvolutionCompute, Type::kData, compute));
  RETURN_IF_ERROR(made.set(Attribute::kConvolutionMode, Type::kConvolutionMode, Mode::kCrossCorrelation));
  RETURN_IF_ERROR(made.set(Attribute::kStrides, Type::kInt64, 2, strides));
  RETURN_IF_ERROR(made.set(Attribute::kDilations, Type::kInt64, 2, dilations));
  RETURN_IF_ERROR(made.set(Attribute::kPrePaddings, Type::kInt64, 2, before));
  RETURN_IF_ERROR(made.set(Attribute::kPostPaddings, Type::kInt64, 2, after));
  RETURN_IF_ERROR(made.finalize());
  return made;
}

Kind operation_kind(ConvPass pass) {
  return pass == ConvPass::kForward         ? Kind::kForward
         : pass == ConvPass::kInputGradient ? Kind::kBackwardData
                                            : Kind::kBackwardFilter;
}

/// All three operations have six attributes in the same order: alpha, beta, convolution, filter, image, output.
struct ConvolutionAttributes {
  Attribute alpha, beta, convolution, filter, image, out;
};
ConvolutionAttributes convolution_attributes(ConvPass pass) {
  const auto first = static_cast<int>(pass == ConvPass::kForward         ? Attribute::kForward
                                      : pass == ConvPass::kInputGradient ? Attribute::kBackwardData
                                                                         : Attribute::kBackwardFilter);
  auto at = [&](int i) { return static_cast<Attribute>(first + i); };
  return {at(0), at(1), at(2), at(3), at(4), at(5)};
}

Result<Descriptor> operation(const Functions& f, const ConvProblem& problem, const ConvGraph& parts) {
  const ConvolutionAttributes attribute = convolution_attributes(problem.pass);
  const bool wide = problem.type == DType::kDouble;
  const double doubles[] = {1, 0};
  const float floats[] = {1, 0};
  auto factor = [&](int i) { return wide ? static_cast<const void*>(doubles + i) : floats + i; };
  ASSIGN_OR_RETURN(Descriptor made, Descriptor::make(f, operation_kind(problem.pass)));
  RETURN_IF_ERROR(made.set(attribute.convolution, parts.convolution));
  RETURN_IF_ERROR(made.set(attribute.filter, parts.filter));
  RETURN_IF_ERROR(made.set(attribute.image, parts.image));
  RETURN_IF_ERROR(made.set(attribute.out, parts.out));
  RETURN_IF_ERROR(made.set(attribute.alpha, wide ? Type::kDouble : Type::kFloat, 1, factor(0)));
  RETURN_IF_ERROR(made.set(attribute.beta, wide ? Type::kDouble : Type::kFloat, 1, factor(1)));
  RETURN_IF_ERROR(made.finalize());
  return made;
}

}  // namespace

const Result<Functions>& functions() {
  static const Result<Functions> kFunctions = Library::table(load);
  return kFunctions;
}

Status status_of(const Functions& f, StatusCode code, const char* call) {
  if (code == 0) return ok_status();
  char more[256] = "";
  f.last_error(more, sizeof more);
  std::string text = cat(call, ": ", f.error_text(code), *more ? ": " : "", more);
  return code / 1000 == 3 ? unavailable(std::move(text)) : internal_error(std::move(text));
}

Result<Descriptor> Descriptor::make(const Functions& f, Kind kind) {
  DescriptorHandle handle = nullptr;
  RETURN_IF_ERROR(status_of(f, f.create_descriptor(kind, &handle), "cudnnBackendCreateDescriptor"));
  return Descriptor(f, handle);
}
Descriptor::~Descriptor() {
  if (handle_) f_->destroy_descriptor(handle_);
}
Status Descriptor::set(Attribute attribute, Type type, int64_t count, const void* values) {
  return status_of(*f_, f_->set(handle_, attribute, type, count, values), "cudnnBackendSetAttribute");
}
Status Descriptor::get(Attribute attribute, Type type, int64_t room, int64_t& count, void* values) const {
  return status_of(*f_, f_->get(handle_, attribute, type, room, &count, values), "cudnnBackendGetAttribute");
}
Status Descriptor::finalize() { return status_of(*f_, f_->finalize(handle_), "cudnnBackendFinalize"); }

Result<ConvGraph> conv_graph(const Functions& f, const ConvProblem& problem, Handle handle) {
  const ConvShape& s = problem.shape;
  const bool last = problem.channels_last;
  ConvGraph made;
  ASSIGN_OR_RETURN(made.image, tensor(f, kIds[0], problem.type, {s.batch, s.in_c, s.in_h, s.in_w}, last));
  ASSIGN_OR_RETURN(made.filter, tensor(f, kIds[1], problem.type, {s.out_c, s.filter_c, s.window_h, s.window_w}, last));
  ASSIGN_OR_RETURN(made.out, tensor(f, kIds[2], problem.type, {s.batch, s.out_c, s.out_h, s.out_w}, last));
  ASSIGN_OR_RETURN(made.convolution, convolution(f, problem));
  ASSIGN_OR_RETURN(made.operation, operation(f, problem, made));
  ASSIGN_OR_RETURN(made.graph, Descriptor::make(f, Kind::kGraph));
  RETURN_IF_ERROR(made.graph.set(Attribute::kGraphOperations, made.operation));
  if (handle) RETURN_IF_ERROR(made.graph.set(Attribute::kGraphHandle, Type::kHandle, handle));
  RETURN_IF_ERROR(made.graph.finalize());
  return made;
}

}  // namespace emplace::cuda::cudnn
