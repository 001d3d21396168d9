<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * Commands that sandlot runs in the sandbox when it pauses, resumes or forks it. After a crash, or if you repeat
 * the call, a hook can run again.
 */
final class Hooks implements \JsonSerializable
{
    /**
     * @param Hook|null $beforePause Runs before a pause or a stop. If it fails with `on_failure` = `fail`, the
     *   sandbox continues to run, and the call fails with `hook_failed`. A pause at the deadline is tried again later.
     *   If no request asked for the pause, the hook has at most 10 seconds. A move to another host ignores a failure.
     * @param Hook|null $afterResume Runs after a resume or a rollback, before the sandbox is `ready`. If the sandbox
     *   starts from its disk, its services start after the hook. If it fails with `on_failure` = `fail`, the sandbox
     *   stops again, without its memory.
     * @param Hook|null $afterFork Runs in each fork, before the fork is `ready`. If it fails with `on_failure` =
     *   `fail`, the fork is not made.
     */
    public function __construct(
        public readonly ?Hook $beforePause = null,
        public readonly ?Hook $afterResume = null,
        public readonly ?Hook $afterFork = null,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            beforePause: $fields->objectOrNull('before_pause', Hook::read(...)),
            afterResume: $fields->objectOrNull('after_resume', Hook::read(...)),
            afterFork: $fields->objectOrNull('after_fork', Hook::read(...)),
        );
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'before_pause' => $this->beforePause,
            'after_resume' => $this->afterResume,
            'after_fork' => $this->afterFork,
        ]);
    }
}
