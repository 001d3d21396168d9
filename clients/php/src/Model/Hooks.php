<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * Commands that the service runs in the sandbox, each as part of one call. A repeated call, or a repetition
 * after a crash, may run one again.
 */
final class Hooks implements \JsonSerializable
{
    /**
     * @param Hook|null $beforePause Before a pause or a stop. With `on_failure` = `fail` the sandbox continues to
     *   run and the call is answered `hook_failed`; a pause at the deadline is tried again later. A pause that no
     *   request asked for gives the hook 10 seconds at most. A move to another host ignores its failure.
     * @param Hook|null $afterResume After a resume or a rollback, before the sandbox is `ready`. If the sandbox
     *   starts from its disk, its services start after the hook. With `on_failure` = `fail` the sandbox stops again,
     *   without its memory.
     * @param Hook|null $afterFork In each fork, before it is `ready`. With `on_failure` = `fail` the fork is not
     *   made.
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
