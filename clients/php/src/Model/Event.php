<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Something that happened. */
final class Event
{
    /**
     * @param string $id Grows from event to event.
     * @param string|null $sandboxName The name of the sandbox when the event is read; null if it has no name.
     * @param string|null $sandboxId Of which sandbox; null: of none.
     * @param array<string, mixed> $data The members depend on the kind.
     */
    public function __construct(
        public readonly string $id,
        public readonly EventKind $kind,
        public readonly \DateTimeImmutable $at,
        public readonly string $team,
        public readonly ?string $sandboxName,
        public readonly ?string $sandboxId,
        public readonly array $data,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            kind: $fields->enum('kind', EventKind::class),
            at: $fields->time('at'),
            team: $fields->string('team'),
            sandboxName: $fields->stringOrNull('sandbox_name'),
            sandboxId: $fields->stringOrNull('sandbox_id'),
            data: $fields->values('data'),
        );
    }
}
