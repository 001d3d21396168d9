<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class EventPage
{
    /**
     * @param list<Event> $events
     * @param string $lastId The `after` of the next call.
     */
    public function __construct(
        public readonly array $events,
        public readonly string $lastId,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            events: $fields->objects('events', Event::read(...)),
            lastId: $fields->string('last_id'),
        );
    }
}
