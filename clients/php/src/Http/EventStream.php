<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\StreamInterface;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\StreamCutException;
use Sandlot\Model\Fields;

/**
 * Server-sent events whose data is JSON.
 *
 * @internal
 */
final class EventStream
{
    private const PIECE = 1 << 16;

    private string $buffer = '';

    public function __construct(private readonly StreamInterface $body, private readonly string $place)
    {
    }

    /**
     * The next event's name and data; null: the stream is over.
     *
     * @return array{string, Fields}|null
     */
    public function next(): ?array
    {
        while (($block = $this->block()) !== null) {
            $lines = [];
            foreach (explode("\n", $block) as $line) {
                [$name, $value] = [...explode(':', $line, 2), ''];
                $lines[$name] = ltrim($value, ' ');
            }
            // Others are comments, which say that the connection lives.
            if (isset($lines['event'], $lines['data'])) {
                return [$lines['event'], Fields::ofJson($lines['data'], $this->place)];
            }
        }
        return null;
    }

    public function close(): void
    {
        $this->body->close();
    }

    /** The lines up to the next empty one. */
    private function block(): ?string
    {
        $searched = 0;
        while (($end = strpos($this->buffer, "\n\n", $searched)) === false) {
            $searched = max(0, strlen($this->buffer) - 1);
            $piece = $this->read();
            if ($piece === '' && $this->body->eof()) {
                return null;
            }
            $this->buffer .= $piece;
        }
        $block = substr($this->buffer, 0, $end);
        $this->buffer = substr($this->buffer, $end + 2);
        return $block;
    }

    private function read(): string
    {
        try {
            return $this->body->read(self::PIECE);
        } catch (ConnectionException $failure) {
            throw new StreamCutException("{$this->place}: the stream was cut: {$failure->getMessage()}", 0, $failure);
        }
    }
}
