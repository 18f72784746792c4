# What cuda/chain_source.cpp hands to NVRTC: the headers of formulas as string literals, in chain_headers.inc.
set(headers cuda/rtc/std.h cuda/rtc/dtype.h core/ops/math/selu_constants.h core/ops/kit/isa.h core/ops/kit/formula.h
    core/ops/formulas/activation.h core/ops/formulas/arithmetic.h core/ops/formulas/comparison.h core/ops/formulas/division.h
    core/ops/formulas/exponential.h core/ops/formulas/unary.h cuda/arithmetic.h cuda/chain.h cuda/complex.h cuda/device_code.h
    cuda/element_code.h cuda/formulas.h cuda/narrow.h)
set(text "")
foreach(header IN LISTS headers)
  file(READ ${CMAKE_SOURCE_DIR}/${header} content)
  string(APPEND text "{\"${header}\", R\"header(${content})header\"},\n")
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
endforeach()
set(EMPLACE_CHAIN_HEADERS ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${EMPLACE_CHAIN_HEADERS})
set(old "")
if(EXISTS ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc)
  file(READ ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${EMPLACE_CHAIN_HEADERS}/chain_headers.inc "${text}")
endif()
