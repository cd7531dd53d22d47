# Sourced: lets OpenMPI start several ranks on one small machine or in a container, as root too.
# shellcheck shell=sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# More ranks than cores: a rank that waits must give way, or the job takes ten times as long.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
# Without ptrace rights the single-copy path of shared memory fails and says so on every rank.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
