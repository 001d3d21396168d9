<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Approval
{
    /**
     * @param string $target The entry of a policy that would allow it: a name, or a name or address with a port.
     * @param \DateTimeImmutable $askedAt The time of the latest event about it.
     * @param \DateTimeImmutable|null $until The end of the answer.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $target,
        public readonly ApprovalState $state,
        public readonly \DateTimeImmutable $askedAt,
        public readonly ?\DateTimeImmutable $until,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            target: $fields->string('target'),
            state: $fields->enum('state', ApprovalState::class),
            askedAt: $fields->time('asked_at'),
            until: $fields->timeOrNull('until'),
        );
    }
}
