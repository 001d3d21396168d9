<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class WebhookUpdate implements \JsonSerializable
{
    /**
     * @param string|null $url Where to; http or https, in the internet unless the operator opens other networks.
     * @param list<EventKind>|null $kinds Only events of these kinds; none: of all.
     */
    public function __construct(
        public readonly ?string $url = null,
        public readonly ?array $kinds = null,
        public readonly ?bool $enabled = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'url' => $this->url,
            'kinds' => $this->kinds,
            'enabled' => $this->enabled,
        ]);
    }
}
