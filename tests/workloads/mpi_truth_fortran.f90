! A Fortran MPI program that knows what it calls: mpi_truth_fortran DIRECTORY writes DIRECTORY/truth-<rank>.json in the form
! of mpi_truth.c. Function names are the symbols that the compiler emits: lower case with an underscore.
program mpi_truth_fortran
  use mpi
  use iso_fortran_env, only: int64
  implicit none

  integer, parameter :: rows_max = 48, rounds = 25
  character(len=24) :: names(rows_max)
  integer(int64) :: calls(rows_max) = 0, bytes(rows_max) = 0, total_ns(rows_max) = 0, max_ns(rows_max) = 0
  integer(int64) :: start_ns
  integer :: used = 0
  integer :: rank, ranks, ierror, i, next, previous, root, peer, comm
  integer :: request, requests(2), status(MPI_STATUS_SIZE)
  integer :: small(64) = 0, large(256) = 0
  double precision :: real_out(16) = 1, real_in(64) = 0
  character(len=512) :: directory

  call get_command_argument(1, directory)
  call tick()
  call mpi_init(ierror)
  call book('mpi_init_', 0)
  call tick()
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  call book('mpi_comm_rank_', 0)
  call tick()
  call mpi_comm_size(MPI_COMM_WORLD, ranks, ierror)
  call book('mpi_comm_size_', 0)
  call tick()
  call mpi_comm_dup(MPI_COMM_WORLD, comm, ierror)
  call book('mpi_comm_dup_', 0)

  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  peer = ieor(rank, 1)
  do i = 1, rounds
    call pairs()
    call nonblocking()
    call collectives()
  end do
  call late_calls()
  call file_calls()
  call window_calls()

  call tick()
  call mpi_comm_free(comm, ierror)
  call book('mpi_comm_free_', 0)
  call tick()
  call mpi_finalize(ierror)
  call book('mpi_finalize_', 0)
  call write_truth()

contains

  subroutine tick()
    integer(int64) :: rate
    call system_clock(start_ns, rate)
    if (rate /= 1000000000_int64) error stop 'system_clock does not count nanoseconds'
  end subroutine tick

  ! Books the call that ended just now and began at the last tick().
  subroutine book(name, n)
    character(len=*), intent(in) :: name
    integer, intent(in) :: n
    integer(int64) :: end_ns
    integer :: row

    call system_clock(end_ns)
    if (ierror /= MPI_SUCCESS) error stop 'an MPI call failed'
    do row = 1, used
      if (names(row) == name) exit
    end do
    if (row > used) then
      used = row
      names(row) = name
    end if
    calls(row) = calls(row) + 1
    bytes(row) = bytes(row) + n
    total_ns(row) = total_ns(row) + (end_ns - start_ns)
    max_ns(row) = max(max_ns(row), end_ns - start_ns)
  end subroutine book

  subroutine send_one()
    call tick()
    call mpi_send(small, i, MPI_INTEGER, peer, 1, comm, ierror)
    call book('mpi_send_', 4 * i)
  end subroutine send_one

  subroutine receive_one()
    call tick()
    call mpi_recv(large, 64, MPI_INTEGER, peer, 1, comm, status, ierror)
    call book('mpi_recv_', 0)
  end subroutine receive_one

  subroutine pairs()
    if (mod(rank, 2) == 0) then
      call send_one()
      call receive_one()
    else
      call receive_one()
      call send_one()
    end if
    call tick()
    call mpi_sendrecv(real_out, 8, MPI_DOUBLE_PRECISION, next, 2, real_in, 8, MPI_DOUBLE_PRECISION, previous, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call book('mpi_sendrecv_', 64)
  end subroutine pairs

  subroutine nonblocking()
    call tick()
    call mpi_irecv(large, 10, MPI_INTEGER, previous, 3, comm, requests(1), ierror)
    call book('mpi_irecv_', 0)
    call tick()
    call mpi_isend(small, 10, MPI_INTEGER, next, 3, comm, requests(2), ierror)
    call book('mpi_isend_', 40)
    call tick()
    call mpi_waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call book('mpi_waitall_', 0)
    call tick()
    call mpi_iallreduce(real_out, real_in, 2, MPI_DOUBLE_PRECISION, MPI_SUM, comm, request, ierror)
    call book('mpi_iallreduce_', 16)
    call tick()
    call mpi_wait(request, status, ierror)
    call book('mpi_wait_', 0)
  end subroutine nonblocking

  subroutine collectives()
    root = mod(i, ranks)
    call tick()
    call mpi_bcast(small, 12, MPI_INTEGER, root, comm, ierror)
    call book('mpi_bcast_', merge(48, 0, rank == root))
    call tick()
    call mpi_scatter(large, 3, MPI_INTEGER, small, 3, MPI_INTEGER, root, comm, ierror)
    call book('mpi_scatter_', merge(12, 0, rank == root))
    call tick()
    call mpi_gather(small, 3, MPI_INTEGER, large, 3, MPI_INTEGER, root, comm, ierror)
    call book('mpi_gather_', 12)
    call tick()
    call mpi_allreduce(real_out, real_in, 16, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    call book('mpi_allreduce_', 128)
    call tick()
    call mpi_allreduce(MPI_IN_PLACE, real_in, 4, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierror)
    call book('mpi_allreduce_', 32)
    call tick()
    call mpi_alltoall(small, 2, MPI_INTEGER, large, 2, MPI_INTEGER, comm, ierror)
    call book('mpi_alltoall_', 8)
    call tick()
    call mpi_barrier(comm, ierror)
    call book('mpi_barrier_', 0)
  end subroutine collectives

  ! Rank 0 comes late by about 3 ms, so MPI_ALLGATHER, which is called only here, waits on all others.
  subroutine late_calls()
    interface
      integer(c_int) function usleep(microseconds) bind(c)
        use iso_c_binding, only: c_int
        integer(c_int), value :: microseconds
      end function usleep
    end interface
    integer :: round, ignored

    do round = 1, 10
      call tick()
      call mpi_barrier(comm, ierror)
      call book('mpi_barrier_', 0)
      if (rank == 0) ignored = usleep(3000)
      call tick()
      call mpi_allgather(small, 2, MPI_INTEGER, large, 2, MPI_INTEGER, comm, ierror)
      call book('mpi_allgather_', 8)
    end do
  end subroutine late_calls

  subroutine file_calls()
    integer :: file
    integer(MPI_OFFSET_KIND) :: mine
    character(len=640) :: path

    path = trim(directory)//'/mpi_truth_fortran.data'
    mine = 16*rank
    call tick()
    call mpi_file_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call book('mpi_file_open_', 0)
    call tick()
    call mpi_file_write_at(file, mine, small, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call book('mpi_file_write_at_', 16)
    call tick()
    call mpi_file_write_at_all(file, mine, small, 4, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call book('mpi_file_write_at_all_', 16)
    call tick()
    call mpi_file_read_at(file, mine, large, 4, MPI_INTEGER, status, ierror)
    call book('mpi_file_read_at_', 0)
    call tick()
    call mpi_file_sync(file, ierror)
    call book('mpi_file_sync_', 0)
    call tick()
    call mpi_file_close(file, ierror)
    call book('mpi_file_close_', 0)
  end subroutine file_calls

  subroutine window_calls()
    integer :: window
    integer(MPI_ADDRESS_KIND) :: window_bytes, first, base

    window_bytes = 256
    first = 0
    call tick()
    call mpi_win_allocate(window_bytes, 4, MPI_INFO_NULL, comm, base, window, ierror)
    call book('mpi_win_allocate_', 0)
    call tick()
    call mpi_win_fence(0, window, ierror)
    call book('mpi_win_fence_', 0)
    call tick()
    call mpi_put(large, 4, MPI_INTEGER, next, first, 4, MPI_INTEGER, window, ierror)
    call book('mpi_put_', 16)
    call tick()
    call mpi_win_fence(0, window, ierror)
    call book('mpi_win_fence_', 0)
    call tick()
    call mpi_get(large, 4, MPI_INTEGER, next, first, 4, MPI_INTEGER, window, ierror)
    call book('mpi_get_', 0)
    call tick()
    call mpi_win_fence(0, window, ierror)
    call book('mpi_win_fence_', 0)
    call tick()
    call mpi_accumulate(large, 3, MPI_INTEGER, next, first, 3, MPI_INTEGER, MPI_SUM, window, ierror)
    call book('mpi_accumulate_', 12)
    call tick()
    call mpi_win_fence(0, window, ierror)
    call book('mpi_win_fence_', 0)
    call tick()
    call mpi_win_free(window, ierror)
    call book('mpi_win_free_', 0)
  end subroutine window_calls

  subroutine write_truth()
    integer :: row, out
    character(len=640) :: path

    write (path, '(a, "/truth-", i0, ".json")') trim(directory), rank
    open (newunit=out, file=trim(path), action='write', status='replace')
    write (out, '("{""rank"":", i0, ",""calls"":{""mpi_truth_fortran"":{")') rank
    do row = 1, used
      if (row > 1) write (out, '(",")')
      write (out, '("""", a, """:{""calls"":", i0, ",""bytes"":", i0, ",""total_ns"":", i0, ",""max_ns"":", i0, "}")') &
        trim(names(row)), calls(row), bytes(row), total_ns(row), max_ns(row)
    end do
    write (out, '("}}}")')
    close (out)
  end subroutine write_truth

end program mpi_truth_fortran
