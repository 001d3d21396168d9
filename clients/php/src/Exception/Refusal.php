<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

use Psr\Http\Message\ResponseInterface;
use Sandlot\Model\ErrorCode;
use Sandlot\Model\Fields;
use Sandlot\Model\Quota;

/**
 * What an answer that is no success says.
 *
 * @internal
 */
final class Refusal
{
    /** More of a refusal is not read. */
    private const LENGTH_MAX = 1 << 16;

    public static function of(ResponseInterface $response): ApiException|AgentException
    {
        $status = $response->getStatusCode();
        $said = self::read($response);
        if (isset($said['code'])) {
            return self::ofAgent($said, $status, self::retryAfter($response));
        }
        $error = self::text($said, 'error');
        $quota = $said['quota'] ?? null;
        $class = self::classOf($error);
        return new $class(
            self::text($said, 'message') ?? "The answer was {$status} {$response->getReasonPhrase()}.",
            status: $status,
            error: $error,
            field: self::text($said, 'field'),
            requestId: $response->getHeaderLine('X-Request-Id') ?: null,
            retryAfter: self::retryAfter($response),
            quota: is_array($quota) ? Quota::read(new Fields($quota, 'quota')) : null,
        );
    }

    /** @param array<mixed> $said */
    public static function ofAgent(array $said, int $status, ?float $retryAfter = null): AgentException
    {
        $code = self::text($said, 'code') ?? AgentException::reasonOf($status);
        $message = self::text($said, 'message') ?? "The sandbox refused: {$code}.";
        return new AgentException($message, $code, $status, $retryAfter);
    }

    /** @param array<mixed> $said */
    private static function text(array $said, string $name): ?string
    {
        $value = $said[$name] ?? null;
        return is_string($value) ? $value : null;
    }

    /** @return class-string<ApiException> */
    private static function classOf(?string $error): string
    {
        $class = __NAMESPACE__ . '\\Api\\' . str_replace('_', '', ucwords((string) $error, '_')) . 'Exception';
        return $error !== null && ErrorCode::tryFrom($error) !== null && is_subclass_of($class, ApiException::class)
            ? $class
            : ApiException::class;
    }

    /** @return array<mixed> */
    private static function read(ResponseInterface $response): array
    {
        $body = $response->getBody();
        $text = '';
        try {
            while (strlen($text) < self::LENGTH_MAX && ($piece = $body->read(self::LENGTH_MAX)) !== '') {
                $text .= $piece;
            }
        } catch (ConnectionException) {
            // The status says enough.
        }
        $body->close();
        $said = json_decode($text, true);
        return is_array($said) ? $said : [];
    }

    /** Seconds; the header has these or a date. */
    private static function retryAfter(ResponseInterface $response): ?float
    {
        $value = $response->getHeaderLine('Retry-After');
        if ($value === '') {
            return null;
        }
        $date = ctype_digit($value) ? null : strtotime($value);
        return match ($date) {
            null => (float) $value,
            false => null,
            default => max(0.0, (float) ($date - time())),
        };
    }
}
