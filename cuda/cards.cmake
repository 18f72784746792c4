# Which cards the plug-in is built for, CMAKE_CUDA_ARCHITECTURES, unless that is said: this machine's; where it has none,
# Hopper and, by code that the driver compiles, all others from compute capability 7.5 on; with EMPLACE_CUDA_RELEASE all that
# CUDA 13 knows.
option(EMPLACE_CUDA_RELEASE "Build the plug-in for every supported GPU" OFF)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90-real)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  RESULT_VARIABLE failed OUTPUT_VARIABLE cards ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" cards "${cards}")
  if(EMPLACE_CUDA_RELEASE)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real 100-real 120)
  elseif(NOT failed STREQUAL "" AND failed EQUAL 0 AND cards)
    set(CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND ${EMPLACE_NVCC} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    foreach(card IN LISTS cards)
      string(REPLACE "." "" number ${card})
      if(card VERSION_LESS 7.5)  # none of them can be compiled for
      elseif(known MATCHES "compute_${number}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${number}-real)
      else()  # newer than nvcc
        list(APPEND CMAKE_CUDA_ARCHITECTURES 75-virtual)
      endif()
    endforeach()
    list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-virtual)
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES} CACHE STRING "The cards that the plug-in is built for")
  message(STATUS "libemplace_cuda.so is built for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
