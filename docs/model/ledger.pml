/*
 * One sealed operation: three attempts at it (two of them send the same input), one who declines, crashes of the Worker
 * between any two steps, calls that are delivered twice, owners who come back late, sweeps, and a clock that is set back.
 * Time is counted in ticks. What an `atomic` holds is one synchronous block of the object; everything else interleaves.
 *
 * -DPOLICY=REPORT or RERUN. A -DBROKEN_... takes one guarantee away, and must be found wrong:
 *   CLAIM    the object decides in two steps
 *   SWEEP    the row goes while a token of the operation is still valid
 *   CLOCK    the object's clock runs back over what was swept
 *   RECORD   a record takes any claim, not only the current one
 *   RELEASE  an attempt that runs again gives the operation back, as if it could answer for the attempt before it
 */
#define REPORT 0
#define RERUN 1
#ifndef POLICY
#define POLICY REPORT
#endif

#define ATTEMPTS 3
#define LEASE 1
#define DEADLINE 2
#ifdef BROKEN_SWEEP
#define AFTERLIFE (-1)
#else
#define AFTERLIFE 1
#endif
#define LAST_TICK 6
#define JUMPS_BACK 1

mtype = { nothing, running, released, completed, declined }

/* The row, on disk: it survives every crash. */
mtype state = nothing
byte fence = 0
byte leaseEnd = 0
byte rowInput = 0
bool again = false          /* an attempt before this one ended unknown */

byte clock = 0
byte swept = 0
byte jumps = 0

/* The world, and what its people were told. */
byte effects = 0          /* how often the effect happened */
byte winners = 0          /* how often the operation was given to somebody */
byte releases = 0
bool toldCompleted = false
bool toldDeclined = false

#ifdef BROKEN_CLOCK
#define NOW clock
#else
#define NOW (clock > swept -> clock : swept)
#endif
#define GONE (NOW > DEADLINE + AFTERLIFE)
#define FREE (GONE || state == nothing || state == released)
#define LEASE_OVER (NOW >= leaseEnd)

/* Gives the operation to whoever asks, with the next fence. Only inside a decision. */
inline give(mine, input, before) {
  again = before
  fence = fence + 1
  mine = fence
  state = running
  rowInput = input
  leaseEnd = NOW + LEASE
  winners = winners + 1
}

/* `claim`: the answer is a fence, or 0. */
inline claim(mine, input) {
  mine = 0
#ifdef BROKEN_CLAIM
  if
  :: atomic { FREE && NOW <= DEADLINE -> skip }; atomic { give(mine, input, false) }
  :: else
  fi
#else
  atomic {
    if
    :: FREE && NOW <= DEADLINE -> give(mine, input, false)
    :: !GONE && state == running && LEASE_OVER && POLICY == RERUN && NOW <= DEADLINE && rowInput == input ->
       give(mine, input, true)
    :: !GONE && state == completed && rowInput == input -> toldCompleted = true
    :: else
    fi
  }
#endif
}

/* `record` and `release`: only the holder of the current claim changes anything. */
#ifdef BROKEN_RECORD
#define CURRENT(mine) true
#else
#define CURRENT(mine) (!GONE && mine == fence)
#endif

#ifdef BROKEN_RELEASE
#define MUST_RUN_AGAIN false
#else
#define MUST_RUN_AGAIN again
#endif

inline record(mine) {
  atomic {
    if
    :: CURRENT(mine) && state == running -> state = completed; toldCompleted = true
    :: CURRENT(mine) && state == completed -> toldCompleted = true
    :: else
    fi
  }
}

inline release(mine) {
  atomic {
    if
    :: CURRENT(mine) && state == running && !MUST_RUN_AGAIN -> state = released; releases = releases + 1
    :: CURRENT(mine) && state == running && MUST_RUN_AGAIN -> leaseEnd = NOW
    :: else
    fi
  }
}

/* A Worker that claims, acts and records. It may crash (and be gone) between any two steps, be late, and call twice. */
proctype attempt(byte input) {
  byte mine
  claim(mine, input)
  if
  :: mine == 0
  :: mine > 0 ->
     if
     :: true                                  /* crashed before the effect */
     :: release(mine)                         /* sure that nothing happened */
        if
        :: true
        :: release(mine)                      /* delivered twice */
        fi
     :: atomic {
#if POLICY == RERUN
          effects = 1                         /* honours the operation's id: again is the same one */
#else
          effects = effects + 1
#endif
        }
        if
        :: true                               /* crashed after the effect */
        :: record(mine)
           if
           :: true
           :: record(mine)
           fi
        fi
     fi
  fi
}

/* Somebody who declines, on any branch. */
proctype no() {
  atomic {
    if
    :: FREE && NOW <= DEADLINE -> state = declined; toldDeclined = true; fence = fence + 1
    :: !GONE && state == declined -> toldDeclined = true
    :: else
    fi
  }
}

/* The alarm, as early, as late and as often as it likes. */
proctype alarm() {
  byte times = 0
  do
  :: times < 2 -> atomic {
       times = times + 1
       swept = NOW
       if
       :: NOW > DEADLINE + AFTERLIFE -> state = nothing; rowInput = 0; leaseEnd = 0
       :: else
       fi
     }
  :: break
  od
}

/* Time goes on, and is at times set back. */
proctype time() {
  do
  :: clock < LAST_TICK -> clock = clock + 1
  :: clock == LAST_TICK && jumps == JUMPS_BACK -> break
  :: jumps < JUMPS_BACK -> atomic { jumps = jumps + 1; clock = 0 }
  od
}

init {
  atomic {
    run attempt(1)
    run attempt(1)
    run attempt(2)
    run no()
    run alarm()
    run time()
  }
  _nr_pr == 1 -> skip

  /* Under `report` each effect needs a claim, and there is a second claim only after a release. */
#if POLICY == REPORT
  assert(winners <= 1 + releases)
#endif
  assert(effects <= 1)
  /* Nobody was told that it is done when it is not, and nobody was told both. */
  assert(!toldCompleted || effects >= 1)
  assert(!(toldCompleted && toldDeclined))
  assert(!(toldDeclined && effects > 0))
  /* What happened is never forgotten: the row says so, or is swept after every token, or still has to be run or told. */
  assert(!(effects > 0 && (state == released || state == declined)))
}
